/** Virtual machines as KubeVirt would run them, on real kubelets, with addresses of the real MAC pool. */

import { dirname } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { mustRun } from "../cluster/command.ts";
import { ControlPlaneAccess, type ControlPlanePlace } from "../cluster/control-plane/access.ts";
import { installKubevirt } from "../cluster/kubevirt/install.ts";
import { KubevirtApi } from "../cluster/kubevirt/kubevirt-api.ts";
import { LAUNCHER_IMAGE } from "../cluster/kubevirt/launcher-pod.ts";
import type { Machine } from "../cluster/kubevirt/model.ts";
import { manifest } from "../cluster/test-pods.ts";
import { PoolFixture } from "../mac-pool/pool-fixture.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { Guest } from "../virtual-machine/guest.ts";
import { type GuestParts, guestPartsOrReason } from "../virtual-machine/guest-parts.ts";
import { GUEST_IMAGE } from "./images/test-images.ts";
import { LauncherNetworks } from "./launcher-networks.ts";
import { NodeCluster } from "./node-cluster.ts";
import { WEBHOOK_ADDRESS } from "./node-config.ts";
import { NodeNamespace } from "./node-namespace.ts";
import { noRealNodes } from "./real-nodes.ts";

const parts = await guestPartsOrReason(process.env);
if (typeof parts === "string") console.warn(`no virtual machines here: ${parts}`);

const BRIDGE = "br1";
const WIRE = "wire";
const RANGE = { start: "02:5d:2c:00:00:00", end: "02:5d:2c:00:00:ff" };
const NETWORKS = {
  checked: { cniVersion: "0.3.1", type: "bridge", bridge: BRIDGE, macspoofchk: true, quiet: true },
  open: { cniVersion: "1.0.0", type: "bridge", bridge: BRIDGE, capabilities: { mac: true } },
};
const ADDRESSES = { alpha: "10.88.0.1", alphaOpen: "10.89.0.1", beta: "10.88.0.2", betaOpen: "10.89.0.2" };
const SPOOFED = "02:5d:00:00:00:99";
const PINGS = 3;

const nad = (name: string, config: object) => ({
  apiVersion: "k8s.cni.cncf.io/v1",
  kind: "NetworkAttachmentDefinition",
  metadata: { name, namespace: "default" },
  spec: { config: JSON.stringify({ name, ...config }) },
});

const virtualMachine = (name: string, networks: readonly string[]) => ({
  apiVersion: "kubevirt.io/v1",
  kind: "VirtualMachine",
  metadata: { name, namespace: "default" },
  spec: {
    runStrategy: "Always",
    template: {
      spec: {
        domain: { devices: { interfaces: networks.map((network) => ({ name: network, bridge: {} })) } },
        networks: networks.map((network) => ({ name: network, multus: { networkName: network } })),
      },
    },
  },
});

describe.skipIf(typeof parts === "string" || (await noRealNodes()))("virtual machines on real nodes", () => {
  const stack = new AsyncDisposableStack();
  let cluster: NodeCluster;
  let client: KubeClient;
  let kubevirt: KubevirtApi;
  let pool: PoolFixture;
  let alpha: Guest;
  let beta: Guest;
  let launcher: LauncherNetworks;
  let peer: LauncherNetworks;

  const kubectl = (args: readonly string[], ...objects: readonly object[]): Promise<string> =>
    cluster.mustKubectl(args, manifest(...objects));

  const seen = (what: string, name: string, fits: (machine: Machine) => boolean | undefined): Promise<Machine> =>
    eventually(what, async () => {
      const machine = await kubevirt.machine("default", name);
      return fits(machine) && machine;
    });

  /** The launcher on this node, once its container runs. */
  const launcherOf = (vm: string, node: string): Promise<Pod> => {
    let last = "";
    const running = async () => {
      const labelSelector = `vm.kubevirt.io/name=${vm}`;
      const { items } = await client.list(RESOURCES.pods, { namespace: "default", labelSelector });
      last = JSON.stringify(items.map(({ spec, status }) => [spec?.nodeName, status]));
      return items.find(({ spec, status }) => spec?.nodeName === node && status?.phase === "Running");
    };
    return eventually(`a launcher of ${vm} runs on ${node}`, running, { state: () => last });
  };

  const macOf = async (vm: string, network: string): Promise<string> => {
    const { vm: found } = await kubevirt.machine("default", vm);
    const interfaces = found?.spec?.template?.spec?.domain?.devices?.interfaces ?? [];
    return interfaces.find(({ name }) => name === network)?.macAddress ?? "none";
  };

  /** Names of the bridge's ports, and of rules that check MACs. */
  const attachmentsOn = async (node: string): Promise<string[]> => {
    const { stdout } = await cluster.exec(node, ["ip", "-json", "link", "show", "master", BRIDGE]);
    const rules = await cluster.exec(node, ["nft", "list", "ruleset"]);
    const links: { ifname: string }[] = JSON.parse(stdout);
    const ports = links.map(({ ifname }) => ifname).filter((name) => name !== WIRE);
    return [...ports, ...rules.stdout.split("\n").filter((line) => line.includes("macspoofchk-"))];
  };

  const portOf = async (node: string, mac: string): Promise<string | undefined> => {
    const { stdout } = await cluster.exec(node, ["bridge", "-json", "fdb", "show", "br", BRIDGE]);
    const entries: { mac: string; ifname: string; state?: string }[] = JSON.parse(stdout);
    return entries.find((entry) => entry.mac === mac && entry.state !== "permanent")?.ifname;
  };

  const startOn = async (node: string, vm: object & { metadata: { name: string } }): Promise<LauncherNetworks> => {
    const other = node === "n1" ? "n2" : "n1";
    await kubectl(["cordon", other]);
    await kubectl(["create", "-f", "-"], vm);
    const attached = await LauncherNetworks.attach(cluster, await launcherOf(vm.metadata.name, node));
    await kubectl(["uncordon", other]);
    return attached;
  };

  const bootIn = async (networks: LauncherNetworks): Promise<Guest> =>
    stack.use(await Guest.boot({ parts: parts as GuestParts, enter: networks.enter, nics: networks.nics }));

  beforeAll(async () => {
    const webhookPort = await freePort();
    const node = { podNetwork: "bridge", bridges: [BRIDGE] } as const;
    const nodes = [
      { name: "n1", ...node },
      { name: "n2", ...node },
    ];
    cluster = stack.use(await NodeCluster.start({ nodes, webhookPort }));
    client = stack.use(await cluster.client());
    const [one, two] = ["n1", "n2"].map((name) => NodeNamespace.ofNode(cluster, name).process());
    const ip = ["nsenter", `--net=/proc/${await one}/ns/net`, "ip", "link", "add", WIRE, "type", "veth"];
    await mustRun([...ip, "peer", "name", WIRE, "netns", `${await two}`]);
    for (const { name } of nodes) {
      await cluster.exec(name, ["ip", "link", "set", WIRE, "master", BRIDGE, "up"]);
      await cluster.exec(name, ["ctr", "images", "tag", GUEST_IMAGE, LAUNCHER_IMAGE]);
    }

    const access = await NodeClusterAccess.to(cluster);
    pool = stack.use(
      await PoolFixture.start({ controlPlane: access, reachedAt: { ...WEBHOOK_ADDRESS, machinePort: webhookPort } }),
    );
    await pool.startReplica("pool");
    await pool.createPool("default", { ranges: [RANGE], quarantineSeconds: 1 });
    await pool.registerWebhooks();
    stack.use(await installKubevirt(cluster.kubeconfig));
    const config = new KubeConfig();
    config.loadFromFile(cluster.kubeconfig);
    kubevirt = new KubevirtApi(config);

    await kubectl(["create", "-f", "-"], nad("checked", NETWORKS.checked), nad("open", NETWORKS.open));
    launcher = await startOn("n1", virtualMachine("alpha", ["checked", "open"]));
    peer = await startOn("n2", virtualMachine("beta", ["open"]));
    [alpha, beta] = await Promise.all([bootIn(launcher), bootIn(peer)]);
    await alpha.setAddress("eth0", `${ADDRESSES.alpha}/24`);
    await alpha.setAddress("eth1", `${ADDRESSES.alphaOpen}/24`);
    await beta.setAddress("eth0", `${ADDRESSES.beta}/24`);
    await beta.setAddress("eth0", `${ADDRESSES.betaOpen}/24`);
  });

  afterAll(() => stack.disposeAsync());

  it("have the MAC of the pool's claim in the spec, in the pod, in the status and in the guest", async () => {
    const macs = [await macOf("alpha", "checked"), await macOf("alpha", "open")];
    expect((await alpha.nics()).map(({ mac }) => mac)).toEqual(macs);
    expect(launcher.nics.map(({ mac }) => mac)).toEqual(macs);
    for (const [index, mac] of macs.entries()) {
      expect((await pool.claim(mac))?.spec).toMatchObject({ mac, pool: "default", origin: "automatic" });
      expect((await pool.claim(mac))?.status?.owners[0]).toMatchObject({ kind: "VirtualMachine", name: "alpha" });
      await seen("the VMI reports it", "alpha", ({ vmi }) => vmi?.status?.interfaces?.[index]?.mac === mac);
    }
  });

  it("reach each other from node to node", async () => {
    expect(await alpha.ping(ADDRESSES.beta, PINGS)).toBe(PINGS);
    expect(await beta.ping(ADDRESSES.alpha, PINGS)).toBe(PINGS);
    expect(await portOf("n2", await macOf("alpha", "checked"))).toBe(WIRE);
  });

  it("send nothing under another MAC where the NAD has macspoofchk, and do where it has not", async () => {
    await alpha.setMac("eth0", SPOOFED);
    expect(await alpha.ping(ADDRESSES.beta, PINGS)).toBe(0);
    expect([await portOf("n1", SPOOFED), await portOf("n2", SPOOFED)]).toEqual([undefined, undefined]);
    await alpha.setMac("eth0", await macOf("alpha", "checked"));
    expect(await alpha.ping(ADDRESSES.beta, PINGS)).toBe(PINGS);

    await alpha.setMac("eth1", SPOOFED);
    expect(await alpha.ping(ADDRESSES.betaOpen, PINGS)).toBe(PINGS);
    expect(await portOf("n2", SPOOFED)).toBe(WIRE);
    await alpha.setMac("eth1", await macOf("alpha", "open"));
  });

  it("lose one NIC while they run, and nothing of it stays on the node", async () => {
    const { port } = launcher.network("open");
    await alpha.unplug("open");
    expect((await alpha.nics()).map(({ name }) => name)).toEqual(["eth0"]);
    expect(await attachmentsOn("n1")).toContain(port);
    await launcher.detach("open");
    expect(await attachmentsOn("n1")).not.toContain(port);
    expect(await alpha.ping(ADDRESSES.beta, PINGS)).toBe(PINGS);
  });

  it("migrate to the other node with their MAC, and are reached there at once", async () => {
    const mac = await macOf("alpha", "checked");
    const claim = await pool.claim(mac);
    const bootId = await alpha.run("cat /proc/sys/kernel/random/boot_id");
    await kubectl(["create", "-f", "-"], {
      apiVersion: "kubevirt.io/v1",
      kind: "VirtualMachineInstanceMigration",
      metadata: { name: "move", namespace: "default" },
      spec: { vmiName: "alpha" },
    });
    const target = await LauncherNetworks.attach(cluster, await launcherOf("alpha", "n2"));
    expect(target.network("checked").nic.mac).toBe(mac);
    const nics = [target.network("checked").nic];
    const moved = stack.use(await Guest.receiver({ parts: parts as GuestParts, enter: target.enter, nics }));
    expect(await beta.ping(ADDRESSES.alpha, PINGS)).toBe(PINGS);
    await alpha.migrateTo(moved);
    await expect.poll(() => portOf("n2", mac)).toBe(target.network("checked").port);
    await expect.poll(() => portOf("n1", mac)).toBe(WIRE);
    expect(await beta.ping(ADDRESSES.alpha, PINGS)).toBe(PINGS);
    expect(await moved.run("cat /proc/sys/kernel/random/boot_id")).toEqual(bootId);
    expect(await moved.nics()).toEqual([{ name: "eth0", mac }]);

    await alpha[Symbol.asyncDispose]();
    await launcher.detach("checked");
    await seen("the VMI is on n2", "alpha", ({ vmi, launchers }) => {
      return vmi?.status?.nodeName === "n2" && vmi.status.migrationState?.completed === true && launchers.length === 1;
    });
    expect(await attachmentsOn("n1")).toEqual([]);
    expect(await pool.claim(mac)).toMatchObject({ spec: claim?.spec, status: { owners: claim?.status?.owners } });
    expect(await beta.ping(ADDRESSES.alpha, PINGS)).toBe(PINGS);
    await moved.setMac("eth0", SPOOFED);
    expect(await moved.ping(ADDRESSES.beta, PINGS)).toBe(0);

    await moved[Symbol.asyncDispose]();
    for (const name of ["checked", "open"]) await target.detach(name);
  });

  it("leave neither claims nor attachments when they are deleted", async () => {
    await beta[Symbol.asyncDispose]();
    await kubectl(["delete", "vm", "alpha", "beta"]);
    await peer.detach("open");
    await expect.poll(() => pool.claims()).toEqual([]);
    expect([await attachmentsOn("n1"), await attachmentsOn("n2")]).toEqual([[], []]);
  });
});

/** A cluster of real nodes as a control plane, for what needs no more than its API server. The cluster outlives it. */
class NodeClusterAccess extends ControlPlaneAccess {
  private constructor(place: ControlPlanePlace) {
    super(place);
  }

  static async to(cluster: NodeCluster): Promise<NodeClusterAccess> {
    const authority = await cluster.authority();
    const { url, kubectlPath, kubeconfig } = cluster;
    // Its etcd can't be reached from outside.
    return new NodeClusterAccess({ url, kubectlPath, authority, directory: dirname(kubeconfig), etcdUrl: "" });
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
