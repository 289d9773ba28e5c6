import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { podInterfaceName } from "../cluster/kubevirt/launcher-pod.ts";
import { searchPath } from "../cluster/requirements.ts";
import { add, type CniCall, del } from "../netns/cni-call.ts";
import { type Namespace, Testbed } from "../netns/testbed.ts";
import { bindByBridge } from "./bridge-binding.ts";
import { Guest, type GuestNic } from "./guest.ts";
import { type GuestParts, guestPartsOrReason } from "./guest-parts.ts";

/** Nodes with a bridge each, and a veth pair, the wire, between the bridges of two. */

const BRIDGE = "br1";
const WIRE = "wire";

class WiredNode implements AsyncDisposable {
  readonly #testbed: Testbed;

  private constructor(testbed: Testbed) {
    this.#testbed = testbed;
  }

  static async pair(): Promise<[WiredNode, WiredNode]> {
    const nodes: [WiredNode, WiredNode] = [
      new WiredNode(await Testbed.create()),
      new WiredNode(await Testbed.create()),
    ];
    const [one, other] = nodes;
    for (const { node } of nodes) await node.ip("link", "add", BRIDGE, "up", "type", "bridge");
    await one.node.ip("link", "add", WIRE, "type", "veth", "peer", "name", WIRE, "netns", `${other.node.pid}`);
    for (const { node } of nodes) await node.ip("link", "set", WIRE, "master", BRIDGE, "up");
    return nodes;
  }

  get node(): Namespace {
    return this.#testbed.node;
  }

  pod(): Promise<Namespace> {
    return this.#testbed.container();
  }

  /** The port behind which the bridge has seen this MAC last. */
  async portOf(mac: string): Promise<string | undefined> {
    const text = await this.#output(["bridge", "-json", "fdb", "show", "br", BRIDGE]);
    const entries: { mac: string; ifname: string; state?: string }[] = JSON.parse(text);
    return entries.find((entry) => entry.mac === mac && entry.state !== "permanent")?.ifname;
  }

  /** How many frames the other end of a port's pair has sent. */
  async framesFrom(port: string): Promise<number> {
    const text = await this.node.ip("-json", "-statistics", "link", "show", "dev", port);
    const [link]: { stats64: { rx: { packets: number } } }[] = JSON.parse(text);
    return link?.stats64.rx.packets ?? 0;
  }

  /** What attachments have on the node: links, rules with their chains, and files. The base chain is everybody's. */
  async attachments(): Promise<string[]> {
    const links = (await this.node.links()).map(({ ifname }) => ifname).sort();
    const listed = JSON.parse(await this.#output(["nft", "-json", "list", "ruleset"]));
    const rules: { rule?: object; chain?: { hook?: string } }[] = listed.nftables;
    const ofOne = rules.filter(({ rule, chain }) => rule !== undefined || (chain && chain.hook === undefined));
    const files = await this.#output(["find", "/run", "-type", "f"]);
    return [...links, ...ofOne.map((each) => JSON.stringify(each)), ...files.split("\n").filter(Boolean)];
  }

  async #output(argv: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.node.run(argv, { env: { PATH: searchPath() } });
    if (code !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
    return stdout;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#testbed[Symbol.asyncDispose]();
  }
}

const parts = await guestPartsOrReason(process.env);
if (typeof parts === "string") console.log(`virtual machines are not tested: ${parts}`);

const CHECKED = { cniVersion: "1.0.0", name: "checked", type: "bridge", bridge: BRIDGE, macspoofchk: true };
const QUIET = { ...CHECKED, quiet: true };
const OPEN = { cniVersion: "1.0.0", name: "open", type: "bridge", bridge: BRIDGE };

const A = { mac: "02:5d:00:00:00:a1", address: "10.88.0.1" };
const A_OPEN = { mac: "02:5d:00:00:00:a2", address: "10.89.0.1" };
const B = { mac: "02:5d:00:00:00:b1", address: "10.88.0.2", openAddress: "10.89.0.2" };
const SPOOFED = "02:5d:00:00:00:99";
const PINGS = 3;
const START_LIMIT_MS = 240_000;

/** A VM's network in a pod. */
interface Attachment {
  readonly pod: Namespace;
  readonly call: CniCall;
  readonly config: { readonly name: string; readonly runtimeConfig: { readonly mac: string } };
  /** The port of the node's bridge. */
  readonly port: string;
}

async function attach(wired: WiredNode, pod: Namespace, network: { name: string }, mac: string): Promise<Attachment> {
  const ifname = podInterfaceName({ name: network.name, multus: { networkName: network.name } });
  const call = { node: wired.node, container: pod, containerId: `c${pod.pid}`, ifname };
  const config = { ...network, runtimeConfig: { mac } };
  const { interfaces } = await add(call, config);
  return { pod, call, config, port: interfaces[1]?.name ?? "" };
}

const detach = ({ call, config }: Attachment): Promise<void> => del(call, config);

async function bind({ pod, call, config }: Attachment): Promise<GuestNic> {
  const run = (argv: readonly string[]) => pod.run(argv, { env: { PATH: process.env.PATH ?? "" } });
  return { name: config.name, ...(await bindByBridge(run, call.ifname ?? "")) };
}

const inPod = ({ pod }: Attachment) => ({
  parts: parts as GuestParts,
  enter: (argv: readonly string[]) => pod.enter(argv),
});

describe.skipIf(typeof parts === "string")("virtual machines on the bridge attachment", () => {
  const stack = new AsyncDisposableStack();
  let one: WiredNode;
  let two: WiredNode;
  let empty: string[];
  /** Of VM a, which is on node one and has both networks. */
  let checked: Attachment;
  let open: Attachment;
  /** Of VM b, which is on node two. */
  let peer: Attachment;
  let a: Guest;
  let b: Guest;

  beforeAll(async () => {
    [one, two] = await WiredNode.pair();
    stack.use(one);
    stack.use(two);
    empty = await one.attachments();
    const pod = await one.pod();
    checked = await attach(one, pod, CHECKED, A.mac);
    open = await attach(one, pod, OPEN, A_OPEN.mac);
    peer = await attach(two, await two.pod(), OPEN, B.mac);
    [a, b] = await Promise.all([
      Guest.boot({ ...inPod(checked), nics: [await bind(checked), await bind(open)] }),
      Guest.boot({ ...inPod(peer), nics: [await bind(peer)] }),
    ]);
    stack.use(a);
    stack.use(b);
    await a.setAddress("eth0", `${A.address}/24`);
    await a.setAddress("eth1", `${A_OPEN.address}/24`);
    await b.setAddress("eth0", `${B.address}/24`);
    await b.setAddress("eth0", `${B.openAddress}/24`);
  }, START_LIMIT_MS);

  afterAll(() => stack.disposeAsync());

  it("reach each other from node to node, each under its own MAC", async () => {
    expect(await a.nics()).toEqual([
      { name: "eth0", mac: A.mac },
      { name: "eth1", mac: A_OPEN.mac },
    ]);
    expect(await a.ping(B.address, PINGS)).toBe(PINGS);
    expect(await b.ping(A.address, PINGS)).toBe(PINGS);
    expect(await one.portOf(A.mac)).toBe(checked.port);
    expect(await two.portOf(A.mac)).toBe(WIRE);
    expect(await two.portOf(B.mac)).toBe(peer.port);
  });

  it("send nothing under another MAC where macspoofchk is on", async () => {
    const sent = await one.framesFrom(checked.port);
    await a.setMac("eth0", SPOOFED);
    expect(await a.ping(B.address, PINGS)).toBe(0);
    expect(await one.framesFrom(checked.port)).toBeGreaterThan(sent);
    expect([await one.portOf(SPOOFED), await two.portOf(SPOOFED)]).toEqual([undefined, undefined]);
    await a.setMac("eth0", A.mac);
    expect(await a.ping(B.address, PINGS)).toBe(PINGS);
  });

  it("send under any MAC where it is off", async () => {
    await a.setMac("eth1", SPOOFED);
    expect(await a.ping(B.openAddress, PINGS)).toBe(PINGS);
    expect([await one.portOf(SPOOFED), await two.portOf(SPOOFED)]).toEqual([open.port, WIRE]);
    await a.setMac("eth1", A_OPEN.mac);
  });

  it("lose one NIC while they run, and nothing of it stays on the node", async () => {
    await a.unplug(OPEN.name);
    expect(await a.nics()).toEqual([{ name: "eth0", mac: A.mac }]);
    expect((await one.attachments()).filter((each) => each.includes(open.port))).not.toEqual([]);
    await detach(open);
    expect((await one.attachments()).filter((each) => each.includes(open.port))).toEqual([]);
    expect(await a.ping(B.address, PINGS)).toBe(PINGS);
    await detach(open);
  });

  it("keep their MAC on a move to the other node, and are reached there at once", async () => {
    const bootId = await a.run("cat /proc/sys/kernel/random/boot_id");
    // Pods of both nodes have the VM's MAC now. One that is not quiet draws the VM's traffic to itself too early.
    const target = await attach(two, await two.pod(), QUIET, A.mac);
    const hasty = await attach(two, await two.pod(), OPEN, A.mac);
    await expect.poll(() => two.portOf(A.mac)).toBe(hasty.port);
    expect(await two.framesFrom(target.port)).toBe(0);
    await detach(hasty);
    expect(await a.ping(B.address, PINGS)).toBe(PINGS);
    const receiver = stack.use(await Guest.receiver({ ...inPod(target), nics: [await bind(target)] }));
    expect(await b.ping(A.address, PINGS)).toBe(PINGS);
    expect([await one.portOf(A.mac), await two.portOf(A.mac)]).toEqual([checked.port, WIRE]);

    await a.migrateTo(receiver);
    await expect.poll(async () => [await one.portOf(A.mac), await two.portOf(A.mac)]).toEqual([WIRE, target.port]);
    expect(await b.ping(A.address, PINGS)).toBe(PINGS);
    expect(await receiver.run("cat /proc/sys/kernel/random/boot_id")).toEqual(bootId);
    expect(await receiver.nics()).toEqual([{ name: "eth0", mac: A.mac }]);
    await a[Symbol.asyncDispose]();
    await detach(checked);
    expect(await one.attachments()).toEqual(empty);
    expect(await b.ping(A.address, PINGS)).toBe(PINGS);

    await receiver.setMac("eth0", SPOOFED);
    expect(await receiver.ping(B.address, PINGS)).toBe(0);
    await receiver[Symbol.asyncDispose]();
    await detach(target);
  });

  it("leave nothing on the nodes", async () => {
    await b[Symbol.asyncDispose]();
    await detach(peer);
    expect([await one.attachments(), await two.attachments()]).toEqual([empty, empty]);
  });
});
