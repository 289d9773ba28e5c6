/** What an administrator is told of networks on real nodes, with guests of QEMU as their virtual machines. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import type { NetworkView } from "../../src/mac-pool/inspection/rest/views.ts";
import { CliProcess } from "../cli/support/cli-process.ts";
import { installKubevirt } from "../cluster/kubevirt/install.ts";
import { LAUNCHER_IMAGE } from "../cluster/kubevirt/launcher-pod.ts";
import { manifest } from "../cluster/test-pods.ts";
import { eventually } from "../support/eventually.ts";
import { Guest } from "../virtual-machine/guest.ts";
import { type GuestParts, guestPartsOrReason } from "../virtual-machine/guest-parts.ts";
import { GUEST_IMAGE } from "./images/test-images.ts";
import { InstalledProduct } from "./installed-product.ts";
import { LauncherNetworks } from "./launcher-networks.ts";
import { noRealNodes } from "./real-nodes.ts";

const parts = await guestPartsOrReason(process.env);

const BRIDGE = "br1";
const NETWORK = "shop";
const NAMESPACE = "default";
const WAY = ["accepted", "network", "bridge", "scheduled", "attached", "kernel", "alone", "frames"];
const PINGS = 3;
const SETUP_LIMIT_MS = 900_000;
const LIMIT = { limitMs: 120_000 };

const virtualMachine = (name: string, node: string) => ({
  apiVersion: "kubevirt.io/v1",
  kind: "VirtualMachine",
  metadata: { name, namespace: NAMESPACE },
  spec: {
    runStrategy: "Always",
    template: {
      spec: {
        nodeSelector: { "kubernetes.io/hostname": node },
        domain: { devices: { interfaces: [{ name: "net", bridge: {} }] } },
        networks: [{ name: "net", multus: { networkName: NETWORK } }],
      },
    },
  },
});

describe.skipIf(typeof parts === "string" || (await noRealNodes()))(
  "networks of virtual machines on real nodes",
  () => {
    const stack = new AsyncDisposableStack();
    let product: InstalledProduct;
    let cli: CliProcess;

    beforeAll(async () => {
      product = stack.use(await InstalledProduct.prepare([{ name: "n1", bridges: [BRIDGE] }, { name: "n2" }]));
      const { cluster } = product;
      for (const node of ["n1", "n2"])
        await cluster.mustExec(node, ["ctr", "images", "tag", GUEST_IMAGE, LAUNCHER_IMAGE]);
      stack.use(await installKubevirt(cluster.kubeconfig));
      await product.install();
      cli = stack.use(await CliProcess.build());
      cli.kubeconfig = cluster.kubeconfig;
    }, SETUP_LIMIT_MS);
    afterAll(() => stack.disposeAsync());

    const told = async (...argv: string[]): Promise<string> => (await cli.run(...argv)).stdout;

    const create = (text: string) => product.cluster.mustKubectl(["create", "-f", "-"], text);

    async function launcherOf(name: string, phase: string): Promise<Pod> {
      let last = "";
      const found = async () => {
        const labelSelector = `vm.kubevirt.io/name=${name}`;
        const { items } = await product.client.list(RESOURCES.pods, { namespace: NAMESPACE, labelSelector });
        last = JSON.stringify(items.map(({ status }) => status));
        return items.find(({ status }) => status?.phase === phase);
      };
      return eventually(`the launcher of ${name} is ${phase}`, found, { ...LIMIT, state: () => last });
    }

    async function boot(name: string): Promise<Guest> {
      const networks = await LauncherNetworks.attach(product.cluster, await launcherOf(name, "Running"));
      return stack.use(await Guest.boot({ parts: parts as GuestParts, enter: networks.enter, nics: networks.nics }));
    }

    const network = async (): Promise<NetworkView> =>
      JSON.parse(await told("network", NETWORK, "-n", NAMESPACE, "-o", "json"));

    it("are made with one command", async () => {
      const args = ["new-network", NETWORK, "-n", NAMESPACE, "--bridge", BRIDGE, "--spoof-check"];
      const printed = await eventually("the nodes report their bridges", async () => {
        const { code, stdout } = await cli.run(...args);
        return code === 0 && stdout;
      });
      await create(printed);
      const known = await eventually("the network is known", async () => {
        const { nodes } = await network();
        return nodes.total === 2 && nodes;
      });
      expect(known).toMatchObject({ withBridge: 1, works: 1, noBridge: 1, fails: 0 });
    });

    it("show the VMs that run there, and the way of each from the request to the frame", async () => {
      for (const name of ["alpha", "beta"]) await create(manifest(virtualMachine(name, "n1")));
      const [alpha, beta] = await Promise.all([boot("alpha"), boot("beta")]);
      await alpha.setAddress("eth0", "10.88.0.1/24");
      await beta.setAddress("eth0", "10.88.0.2/24");
      expect(await alpha.ping("10.88.0.2", PINGS)).toBe(PINGS);

      await eventually("both run", async () => (await network()).running === 2);
      expect(await network()).toMatchObject({
        spoofCheck: true,
        usedBy: [NAMESPACE],
        cells: [
          { node: "n1", running: 2, verdict: "Works" },
          { node: "n2", running: 0, verdict: "NoBridge" },
        ],
        findings: [],
      });
      const [nic] = await alpha.nics();
      const way = await told("explain", "alpha", "-n", NAMESPACE);
      expect(stepsOf(way)).toEqual(WAY.map((step) => `ok ${step}`));
      expect(way).toMatch(`attached   as pod`);
      expect(way.split("\n").filter((line) => line.includes(nic?.mac ?? "none")).length).toBeGreaterThan(2);
      expect(JSON.parse(await told("collisions", "-A", "-o", "json")).items).toEqual([]);
    });

    it("name the bridge that a VM's node lacks", async () => {
      await create(manifest(virtualMachine("gamma", "n2")));
      await launcherOf("gamma", "Pending");
      const way = await eventually("the scheduler has spoken", async () => {
        const text = await told("explain", "gamma", "-n", NAMESPACE);
        return text.includes(`Insufficient bridge.network.kubevirt.io/${BRIDGE}`) && text;
      });
      expect(stepsOf(way)).toEqual(["ok accepted", "ok network", "ok bridge", "wrong scheduled"]);
      expect(await network()).toMatchObject({ pending: 1, waiting: [`${NAMESPACE}/gamma`] });
    });
  },
);

/** Each step of a VM's way with its verdict. */
function stepsOf(way: string): string[] {
  return [...way.matchAll(/^ {2}(ok|wrong|unknown) +([a-z]+) /gm)].map(([, verdict, step]) => `${verdict} ${step}`);
}
