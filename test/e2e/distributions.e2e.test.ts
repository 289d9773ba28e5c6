/** The product as README installs it, with nothing set, on a node that is laid out as a distribution has it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NETWORK_ADDONS_CONFIGS } from "../../src/api/kinds.ts";
import { DEFAULT_NAMESPACE, NETWORK_ADDONS_CONFIG_NAME } from "../../src/api/names.ts";
import type { NetworkAddonsConfig } from "../../src/api/network-addons-config.ts";
import { RESOURCES, type Resource } from "../../src/kube/client/resource.ts";
import { eventually } from "../support/eventually.ts";
import { churn } from "./churn.ts";
import { DISTRIBUTIONS, type Distribution, kubeletVersionPolicy } from "./distributions.ts";
import { InstalledProduct } from "./installed-product.ts";
import { pluginSums, pluginSumsOn } from "./next-image.ts";
import { noRealNodes } from "./real-nodes.ts";
import { addSecondNetwork, removeSecondNetwork } from "./second-network.ts";

const NODE = "n1";
const LIMIT_MS = 900_000;
const CONFIGS: Resource<NetworkAddonsConfig> = NETWORK_ADDONS_CONFIGS;
const CONFIG = { name: NETWORK_ADDONS_CONFIG_NAME };
/** Those of other projects, whose images a node without the internet can't pull: what they mount is looked at instead. */
const OTHERS = ["multus", "dynamic-networks-controller-ds"];

const CASES: readonly (readonly [Distribution, string])[] = [
  ["talos", "Talos"],
  ["k3s", "k3s"],
  ["k0s", "k0s"],
];

describe.skipIf(await noRealNodes()).each(CASES)(
  "a real node laid out as on %s",
  (distribution, name) => {
    const { cniBinDir, cniConfigDir, criSocket, kubeletVersionSuffix } = DISTRIBUTIONS[distribution];
    let product: InstalledProduct;

    beforeAll(async () => {
      product = await InstalledProduct.prepare([{ name: NODE, distribution, bridges: ["br1"] }]);
      const { client, cluster } = product;
      if (kubeletVersionSuffix !== "") {
        const policy = { apiVersion: "v1", kind: "List", items: kubeletVersionPolicy(kubeletVersionSuffix) };
        await cluster.mustKubectl(["create", "-f", "-"], JSON.stringify(policy));
        await eventually("the kubelet's version has its suffix", async () => {
          const { status } = await client.get(RESOURCES.nodes, { name: NODE });
          return status?.nodeInfo?.kubeletVersion.endsWith(kubeletVersionSuffix) === true;
        });
      }
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
    });

    it("gives pods that come and go their networks, and keeps nothing of them", async () => {
      await churn(product.client, NODE, 12, 3);
      expect(await product.cluster.failedAdds([NODE])).toEqual([]);
      await eventually("no port and no record is left", async () => {
        const ports = await product.cluster.mustExec(NODE, ["sh", "-c", "ls /sys/class/net/br1/brif"]);
        const records = await product.cluster.mustExec(NODE, [
          ...["sh", "-c", "find /run/cni/cluster-network-addons -type f 2>/dev/null || true"],
        ]);
        return ports.trim() === "" && records.trim() === "";
      });
    });

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

    it("has nothing of the product where its plugins were once that is removed", async () => {
      await removeSecondNetwork(product, NODE, cniConfigDir);
      await product.remove();
      const left = await product.cluster.mustExec(NODE, ["ls", cniBinDir]);
      expect(left.trim().split(/\s+/).sort()).toEqual(["host-local", "ptp"]);
    });
  },
  LIMIT_MS,
);
