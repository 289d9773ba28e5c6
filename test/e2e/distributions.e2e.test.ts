/** The product as README installs it, with nothing set, on nodes that are laid out as distributions have them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NETWORK_ADDONS_CONFIGS, OPENSHIFT_NETWORKS } from "../../src/api/kinds.ts";
import { DEFAULT_NAMESPACE, NETWORK_ADDONS_CONFIG_NAME } from "../../src/api/names.ts";
import type { NetworkAddonsConfig } from "../../src/api/network-addons-config.ts";
import { RESOURCES, type Resource } from "../../src/kube/client/resource.ts";
import { NETWORKS_CRD } from "../operator/support/external-kinds.ts";
import { eventually } from "../support/eventually.ts";
import { takeCensus } from "./census.ts";
import { churn } from "./churn.ts";
import { DISTRIBUTIONS, type Distribution, kubeletVersionPolicy } from "./distributions.ts";
import { InstalledProduct } from "./installed-product.ts";
import { type Leftovers, leftoversOn } from "./leftovers.ts";
import { pluginSums, pluginSumsOn } from "./next-image.ts";
import { noRealNodes } from "./real-nodes.ts";
import { addSecondNetwork, removeSecondNetwork } from "./second-network.ts";

const NODE = "n1";
const LIMIT_MS = 900_000;
const CONFIGS: Resource<NetworkAddonsConfig> = NETWORK_ADDONS_CONFIGS;
const CONFIG = { name: NETWORK_ADDONS_CONFIG_NAME };
/** Those of other projects, whose images a node without the internet can't pull: what they mount is looked at instead. */
const OTHERS = ["multus", "dynamic-networks-controller-ds"];
const RECORDS = "/run/cni/cluster-network-addons";
const LATE = { timeout: 60_000 };

const CASES: readonly (readonly [Distribution, string])[] = [
  ["talos", "Talos"],
  ["k3s", "k3s"],
  ["rke2", "RKE2"],
  ["k0s", "k0s"],
  ["microk8s", "MicroK8s"],
  ["gke", "GKE"],
  ["openshift", "OpenShift"],
];

const noNodes = await noRealNodes();

describe.skipIf(noNodes).each(CASES)(
  "a real node laid out as on %s",
  (distribution, name) => {
    const { cniBinDir, cniConfigDir, criSocket, hasOwnVarRun, writable } = DISTRIBUTIONS[distribution];
    let product: InstalledProduct;
    let before: Leftovers;

    beforeAll(async () => {
      product = await InstalledProduct.prepare([{ name: NODE, distribution, bridges: ["br1"] }]);
      const { client, cluster } = product;
      await reportVersions(product, distribution, [NODE]);
      if (distribution === "openshift") {
        await client.create(RESOURCES.crds, NETWORKS_CRD);
        const network = { metadata: { name: "cluster" }, spec: {} };
        await eventually("OpenShift's network is there", async () => client.create(OPENSHIFT_NETWORKS, network));
      }
      before = await leftoversOn(cluster, NODE, [cniBinDir]);
      await product.install();
      await addSecondNetwork(product, NODE, cniConfigDir);
      expect(await cluster.failedAdds([NODE])).toEqual([]);
    }, LIMIT_MS);
    afterAll(async () => {
      await product?.[Symbol.asyncDispose]();
    });

    it("is recognized, and has the plugins where its runtime looks for them", async () => {
      const { status } = await product.client.get(CONFIGS, CONFIG);
      expect(status?.distributions).toEqual([name]);
      expect(status?.components?.find((row) => row.name === "linuxBridge")).toMatchObject({
        phase: "Available",
        hostPaths: [cniBinDir],
      });
      expect(await product.cluster.mustKubectl(["get", "nac", "-o", "wide"])).toContain(name);
      expect(await pluginSumsOn(product, NODE, cniBinDir)).toEqual((await pluginSums()).first);
      const readOnly = ["/usr/lib", ...(writable === undefined ? [] : ["/", "/srv"])];
      for (const directory of readOnly) {
        const made = await product.cluster.exec(NODE, ["mkdir", "-p", `${directory}/made`]);
        expect(made.stderr).toContain("Read-only file system");
      }
    });

    it("gives pods that come and go their networks, and keeps nothing of them", async () => {
      await churn(product.client, NODE, 12, 3);
      expect(await product.cluster.failedAdds([NODE])).toEqual([]);
      await eventually("no port and no record is left", async () => {
        const ports = await product.cluster.mustExec(NODE, ["sh", "-c", "ls /sys/class/net/br1/brif"]);
        const records = await product.cluster.mustExec(NODE, [
          ...["sh", "-c", `find ${RECORDS} -type f 2>/dev/null || true`],
        ]);
        return ports.trim() === "" && records.trim() === "";
      });
    });

    it("loses what is left of an attachment whose network namespace went without a DEL", async () => {
      const { cluster } = product;
      const traces = async () => {
        const { links, rules, records } = await takeCensus(cluster, NODE);
        return { links, rules, records: records.filter((file) => file.startsWith(RECORDS)) };
      };
      const none = await traces();
      const lost = `${hasOwnVarRun ? "/var/run" : "/run"}/netns/lost`;
      await cluster.mustExec(NODE, ["sh", "-c", `touch ${lost} && unshare --net=${lost} true`]);
      await cluster.mustExec(NODE, ["cnitool", "add", "second", lost]);
      expect(await traces()).not.toEqual(none);
      await cluster.mustExec(NODE, ["sh", "-c", `umount ${lost} && rm ${lost}`]);
      await expect.poll(traces, LATE).toEqual(none);
      // The caller's own.
      await cluster.mustExec(NODE, ["sh", "-c", "rm /var/lib/cni/results/second-cnitool-*"]);
    });

    if (distribution === "openshift") {
      it("has the platform's multus alone", async () => {
        const { client } = product;
        await client.patch(CONFIGS, CONFIG, { type: "merge", body: { spec: { multus: {} } } });
        await eventually("it is Available", async () => {
          const { status } = await client.get(CONFIGS, CONFIG);
          return status?.components?.find((row) => row.name === "multus")?.phase === "Available";
        });
        const { items } = await client.list(RESOURCES.daemonSets, { namespace: DEFAULT_NAMESPACE });
        expect(items.map(({ metadata }) => metadata.name)).not.toContain("multus");
        await client.patch(CONFIGS, CONFIG, { type: "merge", body: { spec: { multus: null } } });
      });
    } else {
      it("has every directory and socket that components of other projects mount", async () => {
        const { client, cluster } = product;
        const body = { spec: { multus: {}, multusDynamicNetworks: {} } };
        await client.patch(CONFIGS, CONFIG, { type: "merge", body });
        const mounted = async (workload: string) => {
          const { spec } = await client.get(RESOURCES.daemonSets, { namespace: DEFAULT_NAMESPACE, name: workload });
          return (spec?.template.spec?.volumes ?? []).flatMap(({ hostPath }) => hostPath ?? []);
        };
        await eventually("they are applied", async () => {
          const { items } = await client.list(RESOURCES.daemonSets, { namespace: DEFAULT_NAMESPACE });
          return OTHERS.every((one) => items.some(({ metadata }) => metadata.name === one));
        });
        const paths = (await Promise.all(OTHERS.map(mounted))).flat();
        expect(paths.map(({ path }) => path)).toEqual(expect.arrayContaining([cniBinDir, cniConfigDir, criSocket]));
        for (const { path, type } of paths) {
          const test = type === "Socket" ? "-S" : type === "Directory" ? "-d" : undefined;
          if (test !== undefined) await cluster.mustExec(NODE, ["test", test, path]);
        }
        await client.patch(CONFIGS, CONFIG, {
          type: "merge",
          body: { spec: { multus: null, multusDynamicNetworks: null } },
        });
      });
    }

    it("is as before the installation once the product is removed", async () => {
      const { cluster } = product;
      await removeSecondNetwork(product, NODE, cniConfigDir);
      await product.remove();
      await expect.poll(() => leftoversOn(cluster, NODE, [cniBinDir]), LATE).toEqual(before);
    });
  },
  LIMIT_MS,
);

describe.skipIf(noNodes)(
  "real nodes of two distributions in one cluster",
  () => {
    const [most, other] = [DISTRIBUTIONS.k3s, DISTRIBUTIONS.kubeadm];
    const MOST = ["n1", "n2"];
    const OTHER = "n3";
    const directories = [most.cniBinDir, other.cniBinDir];
    const before = new Map<string, Leftovers>();
    let product: InstalledProduct;

    beforeAll(async () => {
      product = await InstalledProduct.prepare([
        ...MOST.map((name) => ({ name, distribution: "k3s", bridges: ["br1"] }) as const),
        { name: OTHER, bridges: ["br1"] },
      ]);
      await reportVersions(product, "k3s", MOST);
      for (const node of [...MOST, OTHER]) before.set(node, await leftoversOn(product.cluster, node, directories));
      await product.install();
    }, LIMIT_MS);
    afterAll(async () => {
      await product?.[Symbol.asyncDispose]();
    });

    it("have the plugins where most of them look, and the status names the others and what they need", async () => {
      const { client, cluster } = product;
      const { status } = await client.get(CONFIGS, CONFIG);
      expect(status?.distributions).toEqual(["k3s", "Kubernetes"]);
      expect(status?.components?.find((row) => row.name === "linuxBridge")).toMatchObject({
        phase: "Available",
        hostPaths: [most.cniBinDir],
        message:
          `linuxBridge uses ${most.cniBinDir}, as on most nodes (k3s). ${OTHER} (Kubernetes) needs ${other.cniBinDir}: ` +
          "its pods get no networks of linuxBridge",
      });
      for (const node of MOST) {
        expect(await pluginSumsOn(product, node, most.cniBinDir)).toEqual((await pluginSums()).first);
        await addSecondNetwork(product, node, most.cniConfigDir);
        await churn(client, node, 3, 3);
        await removeSecondNetwork(product, node, most.cniConfigDir);
      }
      expect(await cluster.failedAdds([...MOST, OTHER])).toEqual([]);
    });

    it("are as before the installation once the product is removed", async () => {
      await product.remove();
      for (const node of [...MOST, OTHER]) {
        await expect.poll(() => leftoversOn(product.cluster, node, directories), LATE).toEqual(before.get(node));
      }
    });
  },
  LIMIT_MS,
);

/** Resolves when the kubelets of the nodes are the distribution's, as they say. */
async function reportVersions(
  { client, cluster }: InstalledProduct,
  distribution: Distribution,
  nodes: readonly string[],
): Promise<void> {
  const { kubeletVersionSuffix: suffix } = DISTRIBUTIONS[distribution];
  if (suffix === "") return;
  const policy = { apiVersion: "v1", kind: "List", items: kubeletVersionPolicy(suffix, nodes) };
  await cluster.mustKubectl(["create", "-f", "-"], JSON.stringify(policy));
  for (const name of nodes) {
    await eventually(`the version of ${name}'s kubelet has its suffix`, async () => {
      const { status } = await client.get(RESOURCES.nodes, { name });
      return status?.nodeInfo?.kubeletVersion.endsWith(suffix) === true;
    });
  }
}
