import {
  DEFAULT_NAMESPACE,
  LINUX_BRIDGE_DAEMON_SET,
  MAC_POOL_RANGE_CONFIG_MAP,
  NETWORK_ADDONS_CONFIG_NAME,
  OPERATOR_NAME,
} from "../../../../src/api/names.ts";
import { RESOURCES } from "../../../../src/kube/client/resource.ts";
import { eventually } from "../../../support/eventually.ts";
import { PluginGuard } from "../../plugin-guard.ts";
import { assertThat } from "../assert.ts";
import { CLAIMS, CONFIGS, type DemoCluster, getIfThere, kubectl, whenSeen } from "../demo-cluster.ts";
import { claimInPhase, claimOf, macOf } from "../guest.ts";
import { NAMESPACE, NODE_A, NODE_B } from "../objects.ts";
import type { Step, Values } from "../scenario.ts";
import { CNI_DIRECTORY, checksums } from "./cni-plugins.ts";
import { conditionOf } from "./configure.ts";

export const resilience: Step<DemoCluster> = {
  name: "resilience",
  limitMs: 120_000,
  async run(demo, values, signal) {
    demo.note("the operator's pod killed, VM web-2 deleted meanwhile");
    values.availableSeen = await availableWhile(demo, signal, async () => {
      await Promise.all([replaceOperator(demo, values, signal), releaseMac(demo, values, signal)]);
      await repairEdit(demo, values, signal);
    });
    assertThat(String(values.availableSeen) === "True", `Available was ${values.availableSeen}`);
    demo.note("a DaemonSet deleted by hand");
    await deleteDaemonSet(demo, values, signal);
    return {
      text: `operator's pod killed: Available all the time, its successor leads after ${values.operatorLeadsMs} ms`,
      details: [
        `VM web-2 deleted meanwhile: ${values.mac} quarantined after ${values.quarantinedMs} ms, free after ${values.freeMs} ms`,
        `ConfigMap edited by hand: put right after ${values.editRepairedMs} ms`,
        `DaemonSet ${LINUX_BRIDGE_DAEMON_SET} deleted: back after ${values.daemonSetBackMs} ms, its pods ready after ` +
          `${values.daemonSetReadyMs} ms, no CNI file missing in ${values.fileChecks} looks`,
      ],
    };
  },
};

/** Every value that the condition Available had while `work` was done. */
async function availableWhile(demo: DemoCluster, signal: AbortSignal, work: () => Promise<void>): Promise<string[]> {
  const done = new AbortController();
  const seen = watchAvailable(demo, AbortSignal.any([signal, done.signal]));
  try {
    await Promise.race([work(), seen]);
  } finally {
    done.abort();
  }
  return [...(await seen)];
}

async function watchAvailable(demo: DemoCluster, signal: AbortSignal): Promise<Set<string>> {
  const seen = new Set<string>();
  const fieldSelector = `metadata.name=${NETWORK_ADDONS_CONFIG_NAME}`;
  while (!signal.aborted) {
    try {
      for await (const { type, object } of demo.client.watch(CONFIGS, { fieldSelector, signal })) {
        if (type === "ADDED" || type === "MODIFIED") seen.add(conditionOf(object, "Available") ?? "missing");
        if (type === "DELETED") seen.add("deleted");
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
  return seen;
}

/** Kills the operator without a chance to give up its lease; resolves once another pod of it has taken that over. */
async function replaceOperator(demo: DemoCluster, values: Values, signal: AbortSignal): Promise<void> {
  const scope = { namespace: DEFAULT_NAMESPACE, labelSelector: `name=${OPERATOR_NAME}` };
  const [before] = (await demo.client.list(RESOURCES.pods, scope)).items;
  const name = before?.metadata.name;
  assertThat(name !== undefined, `no pod of ${OPERATOR_NAME}`);
  const startedMs = performance.now();
  await kubectl(demo, ["delete", "pod", "-n", DEFAULT_NAMESPACE, name, "--force", "--grace-period=0"]);
  const lease = { name: OPERATOR_NAME, namespace: DEFAULT_NAMESPACE };
  const taken = await whenSeen(
    demo,
    RESOURCES.leases,
    lease,
    ({ spec }) => !["", name].includes(spec?.holderIdentity ?? ""),
    signal,
  );
  values.operatorLeadsMs = Math.round(taken.atMs - startedMs);
}

/** An edit by hand is undone: the new operator has looked at everything. */
async function repairEdit(demo: DemoCluster, values: Values, signal: AbortSignal): Promise<void> {
  const ref = { name: MAC_POOL_RANGE_CONFIG_MAP, namespace: DEFAULT_NAMESPACE };
  const { data } = await demo.client.get(RESOURCES.configMaps, ref);
  const edit = JSON.stringify({ data: { RANGE_START: "edited" } });
  const startedMs = performance.now();
  await kubectl(demo, ["patch", "configmap", "-n", ref.namespace, ref.name, "--type=merge", "-p", edit]);
  const repaired = await whenSeen(
    demo,
    RESOURCES.configMaps,
    ref,
    (seen) => seen.data?.RANGE_START === data?.RANGE_START,
    signal,
  );
  values.editRepairedMs = Math.round(repaired.atMs - startedMs);
}

/** A deleted VM's MAC rests, then it is nobody's. */
async function releaseMac(demo: DemoCluster, values: Values, signal: AbortSignal): Promise<void> {
  const mac = await macOf(demo, "web-2");
  values.mac = mac;
  const startedMs = performance.now();
  await kubectl(demo, ["delete", "vm", "-n", NAMESPACE, "web-2"]);
  await claimInPhase(demo, mac, "Quarantined", signal);
  values.quarantinedMs = Math.round(performance.now() - startedMs);
  await eventually(
    `${mac} to be free`,
    async () => (await getIfThere(demo, CLAIMS, { name: claimOf(mac) })) === undefined,
    { limitMs: 20_000, signal },
  );
  values.freeMs = Math.round(performance.now() - startedMs);
}

/** The operator puts it back; until then and while its pods are replaced every node keeps its executables. */
async function deleteDaemonSet(demo: DemoCluster, values: Values, signal: AbortSignal): Promise<void> {
  const ref = { name: LINUX_BRIDGE_DAEMON_SET, namespace: DEFAULT_NAMESPACE };
  const before = await demo.client.get(RESOURCES.daemonSets, ref);
  const guards: PluginGuard[] = [];
  for (const node of [NODE_A, NODE_B]) {
    const files = [...(await checksums(demo, node)).keys()];
    guards.push(new PluginGuard(demo.cluster, node, CNI_DIRECTORY, files));
  }
  const startedMs = performance.now();
  await kubectl(demo, ["delete", "daemonset", "-n", ref.namespace, ref.name, "--wait=false"]);
  const back = await whenSeen(
    demo,
    RESOURCES.daemonSets,
    ref,
    ({ metadata }) => metadata.uid !== before.metadata.uid,
    signal,
  );
  values.daemonSetBackMs = Math.round(back.atMs - startedMs);
  const ready = await whenSeen(
    demo,
    RESOURCES.daemonSets,
    ref,
    ({ metadata, status }) =>
      metadata.uid !== before.metadata.uid &&
      (status?.desiredNumberScheduled ?? 0) > 0 &&
      status?.numberReady === status?.desiredNumberScheduled,
    signal,
  );
  values.daemonSetReadyMs = Math.round(ready.atMs - startedMs);
  const reports = await Promise.all(guards.map((guard) => guard.stop()));
  values.fileChecks = reports.reduce((sum, { looks }) => sum + looks, 0);
  const missing = reports.flatMap(({ faults }) => faults);
  values.filesMissing = missing;
  assertThat(missing.length === 0, `CNI files were missing for a moment: ${missing.join(", ")}`);
}
