/** What the product leaves on a node of each supported end: in a former CNI directory, beside a second release, at its removal. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NETWORK_ADDONS_CONFIGS } from "../../src/api/kinds.ts";
import { DEFAULT_NAMESPACE, LINUX_BRIDGE_DAEMON_SET, NETWORK_ADDONS_CONFIG_NAME } from "../../src/api/names.ts";
import type { DaemonSet, Pod } from "../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { PluginGuard } from "../cluster/plugin-guard.ts";
import { eventually } from "../support/eventually.ts";
import { churnDuring } from "./churn.ts";
import { InstalledProduct } from "./installed-product.ts";
import { type Leftovers, leftoversOn, namesIn } from "./leftovers.ts";
import { pluginSums, pluginSumsOn, pushNextImage } from "./next-image.ts";
import type { NodeCluster } from "./node-cluster.ts";
import { CNI_BIN_DIRECTORY, CONTAINERD_DIRECTORY } from "./node-config.ts";
import { OLDEST_KUBERNETES_VERSION } from "./node-programs.ts";
import { noRealNodes } from "./real-nodes.ts";
import { addSecondNetwork, removeSecondNetwork, restartRuntime } from "./second-network.ts";
import { deletePod, runPod } from "./test-pod.ts";

const NODES = ["n1", "n2"] as const;
const SETUP_LIMIT_MS = 900_000;
const LIMIT_MS = 900_000;
const PARALLEL = 2;
const ROLL = { limitMs: 300_000 };
/** An installer looks once a minute, and leaves another one's files for some minutes. */
const LATE = { limitMs: 600_000 };
const OTHER_DIRECTORY = "/var/lib/cni/bin";
const CNI_DIRECTORIES = [CNI_BIN_DIRECTORY, OTHER_DIRECTORY];
/** Neither of them has our mark. */
const FOREIGN_FILES = ["tuning.bak", "sbr"];
const SECOND_RELEASE = { name: LINUX_BRIDGE_DAEMON_SET, namespace: "second-release" };
const SECOND_HEALTH_PORT = 8092;
const CONFIG = { name: NETWORK_ADDONS_CONFIG_NAME };

describe.skipIf(await noRealNodes())(
  "real nodes that the product leaves",
  () => {
    let product: InstalledProduct;
    let cluster: NodeCluster;
    let client: KubeClient;
    let sums: Awaited<ReturnType<typeof pluginSums>>;
    let nextImage: string;
    const before = new Map<string, Leftovers>();

    beforeAll(async () => {
      product = await InstalledProduct.prepare([{ name: "n1" }, { name: "n2", version: OLDEST_KUBERNETES_VERSION }]);
      ({ cluster, client } = product);
      [sums, nextImage] = [await pluginSums(), await pushNextImage(product.image)];
      const bothDirectories = `s,bin_dirs = .*,bin_dirs = ['${CNI_BIN_DIRECTORY}'\\, '${OTHER_DIRECTORY}'],`;
      for (const node of NODES) {
        await product.cluster.mustExec(node, ["sed", "-i", bothDirectories, `${CONTAINERD_DIRECTORY}/config.toml`]);
        const files = FOREIGN_FILES.map((name) => `${CNI_BIN_DIRECTORY}/${name}`).join(" ");
        await product.cluster.mustExec(node, ["sh", "-c", `for file in ${files}; do echo theirs > $file; done`]);
        await restartRuntime(product, node);
        before.set(node, await leftoversOn(cluster, node, CNI_DIRECTORIES));
      }
      await product.install();
      for (const node of NODES) await addSecondNetwork(product, node);
    }, SETUP_LIMIT_MS);
    afterAll(async () => {
      await product?.[Symbol.asyncDispose]();
    });

    const patchSpec = (spec: object) => client.patch(NETWORK_ADDONS_CONFIGS, CONFIG, { type: "merge", body: { spec } });
    const available = () =>
      product.cluster.mustKubectl([
        "wait",
        "networkaddonsconfig",
        CONFIG.name,
        "--for=condition=Available",
        "--timeout=300s",
      ]);
    const daemonSet = (): Promise<DaemonSet> =>
      client.get(RESOURCES.daemonSets, { name: LINUX_BRIDGE_DAEMON_SET, namespace: DEFAULT_NAMESPACE });
    const mountedDirectories = async (): Promise<(string | undefined)[]> => {
      const volumes = (await daemonSet()).spec?.template.spec?.volumes ?? [];
      return volumes.filter(({ name }) => name.includes("cni-bin")).map(({ hostPath }) => hostPath?.path);
    };

    it("have the plugins in the new CNI directory alone after a change, and every pod meanwhile its networks", async () => {
      await churnDuring(client, NODES, PARALLEL, async () => {
        await patchSpec({ linuxBridge: { cniBinDir: OTHER_DIRECTORY } });
        await eventually(
          "the former directory is given up",
          async () => {
            const { status, metadata } = await daemonSet();
            const rolled = status?.observedGeneration === metadata.generation;
            const [first, ...more] = await mountedDirectories();
            return rolled && first === OTHER_DIRECTORY && more.length === 0 && status?.numberAvailable === NODES.length;
          },
          ROLL,
        );
      });
      await available();
      for (const node of NODES) {
        expect(await pluginSumsOn(product, node, OTHER_DIRECTORY)).toEqual(sums.first);
        const left = await namesIn(cluster, node, CNI_BIN_DIRECTORY);
        expect(left.filter((name) => name in sums.first)).toEqual([]);
        expect(left).toEqual(expect.arrayContaining([...FOREIGN_FILES, "host-local", "ptp"]));
      }
      expect(await cluster.failedAdds(NODES)).toEqual([]);
    });

    it("keep whole plugins of either version while two releases are at work, and both say so", async () => {
      const guards = NODES.map((node) => new PluginGuard(cluster, node, OTHER_DIRECTORY, Object.keys(sums.first)));
      const said = async (pods: readonly Pod[], text: string): Promise<number[]> => {
        const logs = pods.map(({ metadata: { name = "", namespace } }) =>
          product.cluster.mustKubectl(["logs", `--namespace=${namespace}`, name]),
        );
        return (await Promise.all(logs)).map((log) => log.split(text).length - 1);
      };
      const installers = async (): Promise<Pod[]> => {
        const labelSelector = `name=${LINUX_BRIDGE_DAEMON_SET}`;
        const found = [DEFAULT_NAMESPACE, SECOND_RELEASE.namespace].map((namespace) =>
          client.list(RESOURCES.pods, { namespace, labelSelector }),
        );
        return (await Promise.all(found)).flatMap(({ items }) => items);
      };
      await churnDuring(client, NODES, PARALLEL, async () => {
        await client.create(RESOURCES.namespaces, { metadata: { name: SECOND_RELEASE.namespace } });
        await client.create(RESOURCES.daemonSets, secondRelease(await daemonSet(), nextImage));
        await eventually(
          "all four installers say that there is another one",
          async () => {
            const pods = await installers();
            const contests = await said(pods, "another installer puts its version of the plugins into");
            return contests.length === 2 * NODES.length && contests.every((count) => count > 0);
          },
          LATE,
        );
      });
      const pods = await installers();
      const contests = await said(pods, "another installer puts its version of the plugins into");
      const writes = await said(pods, "installed cnv-bridge");
      console.table(
        pods.map(({ metadata }, at) => ({ pod: metadata.name, contests: contests[at], writes: writes[at] })),
      );
      // The first installation and the first update are no contest.
      for (const [at, count] of writes.entries()) expect(count).toBeLessThanOrEqual((contests[at] ?? 0) + 2);

      await client.delete(RESOURCES.namespaces, { name: SECOND_RELEASE.namespace });
      const { namespace } = SECOND_RELEASE;
      await eventually(
        "the pods of the second release are gone",
        async () => (await client.list(RESOURCES.pods, { namespace })).items.length === 0,
        ROLL,
      );
      for (const node of NODES) {
        await eventually(
          `the release that stays has the last word on ${node}`,
          async () => JSON.stringify(await pluginSumsOn(product, node, OTHER_DIRECTORY)) === JSON.stringify(sums.first),
          LATE,
        );
      }
      for (const { faults, sums: seen } of await Promise.all(guards.map((guard) => guard.stop()))) {
        expect(faults).toEqual([]);
        for (const [name, sum] of Object.entries(sums.first)) {
          const versions = [...(seen[name] ?? [])];
          expect(versions).toContain(sum);
          // A release that comes upon the other one first writes nothing for a while.
          for (const one of versions) expect([sum, sums.next[name]]).toContain(one);
        }
      }
      expect(await cluster.failedAdds(NODES)).toEqual([]);
    });

    it("keep the plugins only where a pod needs them when linuxBridge is taken out of the configuration", async () => {
      const [used, unused] = NODES;
      await runPod(client, { name: "stays", node: used });
      await patchSpec({ linuxBridge: null });
      const namespace = DEFAULT_NAMESPACE;
      const labelSelector = `name=${LINUX_BRIDGE_DAEMON_SET}`;
      await eventually(
        "the installers are gone",
        async () => (await client.list(RESOURCES.pods, { namespace, labelSelector })).items.length === 0,
        ROLL,
      );
      expect(await pluginSumsOn(product, used, OTHER_DIRECTORY)).toEqual(sums.first);
      expect(await namesIn(cluster, unused, OTHER_DIRECTORY)).toEqual([]);
      const { items } = await client.list(RESOURCES.events, { namespace: "default" });
      const told = items.filter(({ reason }) => reason === "PluginsStay").map(({ note }) => note);
      expect(told).toEqual([expect.stringContaining(`stay in ${OTHER_DIRECTORY} of node ${used}`)]);
      await deletePod(client, "stays");
      // Pods of the product that start from now on are to need no plugin.
      for (const node of NODES) await removeSecondNetwork(product, node);
      await patchSpec({ linuxBridge: { cniBinDir: OTHER_DIRECTORY } });
      await available();
    });

    it("are as before the installation after the commands for the removal", async () => {
      const began = performance.now();
      console.log(`${await product.remove()}removed after ${Math.round(performance.now() - began)} ms`);
      for (const node of NODES) {
        await expect
          .poll(() => leftoversOn(cluster, node, CNI_DIRECTORIES), { timeout: ROLL.limitMs })
          .toEqual(before.get(node));
      }
    });
  },
  LIMIT_MS,
);

/** The same DaemonSet as another release would apply it in a namespace of its own. */
function secondRelease({ spec }: DaemonSet, image: string): DaemonSet {
  if (spec === undefined) throw new Error("the DaemonSet has no spec");
  const { template } = spec;
  const containers = (template.spec?.containers ?? []).map(
    ({ env = [], ports: _, readinessProbe, livenessProbe, ...rest }) => ({
      ...rest,
      image,
      env: env.map((one) => (one.name === "HEALTH_PORT" ? { ...one, value: String(SECOND_HEALTH_PORT) } : one)),
    }),
  );
  const { serviceAccountName: _name, serviceAccount: _account, ...pod } = template.spec ?? { containers };
  return {
    metadata: SECOND_RELEASE,
    spec: { selector: spec.selector, template: { ...template, spec: { ...pod, containers } } },
  };
}
