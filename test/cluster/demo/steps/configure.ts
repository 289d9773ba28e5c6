import { DEFAULT_MAC_POOL, DEFAULT_NAMESPACE, NETWORK_ADDONS_CONFIG_NAME } from "../../../../src/api/names.ts";
import { RESOURCES } from "../../../../src/kube/client/resource.ts";
import { eventually } from "../../../support/eventually.ts";
import { assertThat } from "../assert.ts";
import { CONFIGS, type DemoCluster, getIfThere, kubectl, kubectlApply, POOLS, whenSeen } from "../demo-cluster.ts";
import { networkAddonsConfig, QUARANTINE_SECONDS } from "../objects.ts";
import type { Step } from "../scenario.ts";
import { describe, isReady, type Workload, workloads } from "../workloads.ts";

const EXPECTED = [
  "bridge-marker",
  "kube-cni-linux-bridge-plugin",
  "kubemacpool-cert-manager",
  "kubemacpool-mac-controller-manager",
  "linux-bridge-webhook",
];
const PODS_LIMIT_MS = 60_000;

export const configure: Step<DemoCluster> = {
  name: "configure",
  limitMs: 120_000,
  async run(demo, values, signal) {
    demo.note("waiting until NetworkAddonsConfig/cluster is Available");
    const startedMs = performance.now();
    await kubectlApply(demo, networkAddonsConfig({ linuxBridge: {}, kubeMacPool: {} }));
    const { object: config, atMs } = await whenSeen(
      demo,
      CONFIGS,
      { name: NETWORK_ADDONS_CONFIG_NAME },
      (seen) => conditionOf(seen, "Available") === "True",
      signal,
    );
    values.availableMs = Math.round(atMs - startedMs);
    values.observedVersion = config.status?.observedVersion;
    values.degraded = conditionOf(config, "Degraded");
    assertThat(values.degraded === "False", "the NetworkAddonsConfig is Available and Degraded at once");

    let last: Workload[] = [];
    await eventually(
      "every component's pods to be ready",
      async () => {
        last = await workloads(demo.client);
        return EXPECTED.every((name) => last.some((each) => each.name === name && isReady(each)));
      },
      { limitMs: PODS_LIMIT_MS, signal, state: () => last.map(describe).join(", ") },
    );
    values.workloads = Object.fromEntries(last.map((each) => [each.name, `${each.ready}/${each.desired}`]));
    const pods = await demo.client.list(RESOURCES.pods, { namespace: DEFAULT_NAMESPACE });
    values.pods = pods.items.length;
    values.range = await shortenQuarantine(demo, signal);

    const seconds = (values.availableMs as number) / 1000;
    return {
      text: `NetworkAddonsConfig/cluster {linuxBridge, kubeMacPool}: Available after ${seconds.toFixed(1)} s`,
      details: [last.map(describe).join("  "), `pool default: ${values.range}`],
    };
  },
};

/** The pool's policy is the administrator's, its ranges are the operator's: both write the same object. */
async function shortenQuarantine(demo: DemoCluster, signal: AbortSignal): Promise<string> {
  const ref = { name: DEFAULT_MAC_POOL };
  const spec = JSON.stringify({ spec: { quarantineSeconds: QUARANTINE_SECONDS } });
  await kubectl(demo, ["patch", "macpool", DEFAULT_MAC_POOL, "--type=merge", "-p", spec]);
  return eventually(
    "the pool to report its ranges",
    async () => (await getIfThere(demo, POOLS, ref))?.status?.ranges?.join(", ") || undefined,
    { limitMs: 10_000, signal },
  );
}

export function conditionOf(
  config: { readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] } },
  type: string,
): string | undefined {
  return config.status?.conditions?.find((condition) => condition.type === type)?.status;
}
