import {
  DEFAULT_NAMESPACE,
  LINUX_BRIDGE_DAEMON_SET,
  LINUX_BRIDGE_WEBHOOK,
  MAC_POOL_CERT_MANAGER,
  MAC_POOL_MANAGER,
  MAC_POOL_WEBHOOK_CONFIGURATION,
  NETWORK_ADDONS_CONFIG_NAME,
} from "../../../../src/api/names.ts";
import type { Pod } from "../../../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../../../src/kube/client/resource.ts";
import { eventually } from "../../../support/eventually.ts";
import { assertThat } from "../assert.ts";
import {
  CLAIMS,
  CONFIGS,
  type DemoCluster,
  getIfThere,
  kubectl,
  kubectlApply,
  VIRTUAL_MACHINES,
} from "../demo-cluster.ts";
import { runningGuest } from "../guest.ts";
import { TENANTS } from "../layout.ts";
import { managedObjects } from "../leftovers.ts";
import { NAMESPACE, NODE_A, NODE_B, virtualMachine } from "../objects.ts";
import type { Step, Values } from "../scenario.ts";
import { workloads } from "../workloads.ts";
import { CNI_DIRECTORY, filesIn } from "./cni-plugins.ts";
import { requestOf } from "./first-vm.ts";
import { bridges } from "./node-resources.ts";

const LIMIT_MS = 60_000;
/** A MAC that no pool gave: after the pool is gone, a VM brings its own. */
const OWN_MAC = "02:00:00:0d:e0:03";

export const removal: Step<DemoCluster> = {
  name: "removal",
  limitMs: 180_000,
  async run(demo, values, signal) {
    demo.note("kubeMacPool taken out of the NetworkAddonsConfig");
    await removePool(demo, values, signal);
    demo.note("VM web-3 without the pool");
    await bridgeGoesOn(demo, values, signal);
    demo.note("the NetworkAddonsConfig deleted");
    await removeEverything(demo, values, signal);
    return {
      text: `kubeMacPool removed: webhooks and Deployments gone after ${values.poolGoneMs} ms, the MAC claims stay (${values.claimsKept})`,
      details: [
        `linuxBridge untouched; VM web-3 got ${values.requests} of br1 injected and runs on ${values.node}`,
        `NetworkAddonsConfig deleted: ${values.objectsRemoved} objects, CNI files and node resources gone after ${values.allGoneMs} ms`,
      ],
    };
  },
};

async function removePool(demo: DemoCluster, values: Values, signal: AbortSignal): Promise<void> {
  const claimsBefore = await claimNames(demo);
  const bridgeBefore = await bridgeWorkloads(demo);
  const startedMs = performance.now();
  const patch = JSON.stringify([{ op: "remove", path: "/spec/kubeMacPool" }]);
  await kubectl(demo, ["patch", "networkaddonsconfig", NETWORK_ADDONS_CONFIG_NAME, "--type=json", "-p", patch]);
  let left: string[] = [];
  await eventually(
    "everything of kubeMacPool to go",
    async () => {
      left = [];
      const hook = { name: MAC_POOL_WEBHOOK_CONFIGURATION };
      if (await getIfThere(demo, RESOURCES.mutatingWebhookConfigurations, hook)) left.push(hook.name);
      for (const name of [MAC_POOL_MANAGER, MAC_POOL_CERT_MANAGER]) {
        if (await getIfThere(demo, RESOURCES.deployments, { name, namespace: DEFAULT_NAMESPACE })) left.push(name);
      }
      return left.length === 0;
    },
    { limitMs: LIMIT_MS, signal, state: () => `${left.join(", ")} still there` },
  );
  values.poolGoneMs = Math.round(performance.now() - startedMs);
  const claims = await claimNames(demo);
  values.claimsKept = claims.length;
  values.claims = claims;
  assertThat(claims.join() === claimsBefore.join(), `claims were ${claimsBefore.join(", ")}, now ${claims.join(", ")}`);
  const bridgeNow = await bridgeWorkloads(demo);
  assertThat(bridgeNow === bridgeBefore, `linuxBridge changed: before ${bridgeBefore}, now ${bridgeNow}`);
}

const claimNames = async (demo: DemoCluster): Promise<string[]> =>
  (await demo.client.list(CLAIMS)).items.map(({ metadata }) => metadata.name ?? "").sort();

/** Same uid and generation: neither made anew nor changed. */
async function bridgeWorkloads(demo: DemoCluster): Promise<string> {
  const ours = new Set([LINUX_BRIDGE_DAEMON_SET, LINUX_BRIDGE_WEBHOOK, "bridge-marker"]);
  const all = await workloads(demo.client);
  return all
    .filter(({ name }) => ours.has(name))
    .map(({ name, uid, generation, ready, desired }) => `${name} ${uid} ${generation} ${ready}/${desired}`)
    .sort()
    .join(", ");
}

async function bridgeGoesOn(demo: DemoCluster, values: Values, signal: AbortSignal): Promise<void> {
  await kubectlApply(demo, virtualMachine("web-3", { macAddress: OWN_MAC }));
  const guest = await runningGuest(demo, "web-3", signal);
  values.requests = requestOf(guest);
  values.node = guest.node;
  assertThat(
    values.requests === "1" && guest.node === NODE_A,
    `web-3 runs on ${guest.node} with ${values.requests} of br1`,
  );
}

async function removeEverything(demo: DemoCluster, values: Values, signal: AbortSignal): Promise<void> {
  await kubectl(demo, ["delete", "vm", "--all-namespaces", "--all"]);
  await eventually(
    "the VMs to go",
    async () =>
      (await demo.client.list(VIRTUAL_MACHINES)).items.length === 0 &&
      (await Promise.all([NAMESPACE, ...TENANTS].map((namespace) => podsIn(demo, namespace)))).flat().length === 0,
    { limitMs: LIMIT_MS, signal },
  );
  const before = await managedObjects(demo.client);
  const startedMs = performance.now();
  await kubectl(demo, ["delete", "networkaddonsconfig", NETWORK_ADDONS_CONFIG_NAME, "--wait=false"]);
  let left: string[] = [];
  await eventually(
    "everything of ours to go",
    async () => {
      left = await whatIsLeft(demo);
      return left.length === 0;
    },
    { limitMs: LIMIT_MS, signal, state: () => `${left.join(", ")} still there` },
  );
  values.allGoneMs = Math.round(performance.now() - startedMs);
  values.objectsRemoved = before.length;
  values.left = left;
  values.claimsLeft = await claimNames(demo);
}

async function podsIn(demo: DemoCluster, namespace: string): Promise<readonly Pod[]> {
  return (await demo.client.list(RESOURCES.pods, { namespace })).items;
}

/** Objects of the operator, files in CNI directories and node resources that are there now. */
async function whatIsLeft(demo: DemoCluster): Promise<string[]> {
  const config = await getIfThere(demo, CONFIGS, { name: NETWORK_ADDONS_CONFIG_NAME });
  const left = [
    ...(config === undefined ? [] : ["NetworkAddonsConfig cluster"]),
    ...(await managedObjects(demo.client)),
  ];
  for (const node of [NODE_A, NODE_B]) {
    const object = await demo.client.get(RESOURCES.nodes, { name: node });
    left.push(...Object.keys(bridges(object)).map((name) => `${name} of ${node}`));
    left.push(...(await filesIn(demo, node, CNI_DIRECTORY)).map((name) => `${name} on ${node}`));
  }
  return left;
}
