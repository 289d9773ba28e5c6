import path from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { searchPath } from "../cluster/requirements.ts";
import { add, type CniCall, cni, del } from "../netns/cni-call.ts";
import { BRIDGE, NETNS, PreparedNode } from "../netns/prepared-node.ts";
import { shareOf } from "../support/share.ts";
import { unpackDebian } from "../tools/debian/packages.ts";
import { lacks } from "../tools/debian/programs.ts";

/** The reference in today's version, in the one that clusters run, and in Debian's, which is that of the old defaults. */
const RELEASES = ["1.9.1", "1.5.1", "1.1.1"] as const;
/** With the runtime that made the attachments. */
const WITH_CNITOOL = ["1.9.1", "1.5.1"] as const;

const LAYER_2 = { cniVersion: "0.4.0", name: "br1-net", type: "bridge", bridge: BRIDGE };
const HOST_LOCAL = { type: "host-local", dataDir: "/run/leases", ranges: [[{ subnet: "10.9.0.0/24" }]] };
const STATIC = { type: "static", addresses: [{ address: "10.9.0.7/24", gateway: "10.9.0.1" }] };
/** Otherwise those that make most; with INTEROPERATE_IN_ALL=1 the others too. */
const IN_ALL = process.env.INTEROPERATE_IN_ALL === "1";
type Named = readonly [string, object];
const MOST: readonly Named[] = [
  ["with spoof check", { ...LAYER_2, macspoofchk: true }],
  ["with gateway and masquerading", { ...LAYER_2, isDefaultGateway: true, ipMasq: true, ipam: HOST_LOCAL }],
];
const OTHERS: readonly Named[] = [
  ["on layer 2", LAYER_2],
  ["with static addresses", { ...LAYER_2, hairpinMode: true, mtu: 1400, ipam: STATIC }],
];
const CONFIGS = IN_ALL ? [...MOST, ...OTHERS] : MOST;
const TUNING = { cniVersion: "0.4.0", name: "br1-net", type: "tuning", mac: "02:00:00:00:00:99", mtu: 1300 };

const canRun = !lacks("iptables", "nft");
const debian = await unpackDebian(["containernetworking-plugins/bookworm"], process.env);
const folders: Record<(typeof RELEASES)[number], string | undefined> = {
  "1.9.1": canRun ? await buildPeers(process.env) : undefined,
  "1.5.1": canRun ? await buildPeers(process.env, console.error, "1.5.1") : undefined,
  "1.1.1": debian === undefined || !canRun ? undefined : path.join(debian, "usr/lib/cni"),
};

let node: PreparedNode;
let ours: Record<"bridge" | "tuning", CniCall>;

beforeAll(() => {
  if (folders["1.1.1"] === undefined)
    console.warn("Debian's package of the plugins, or iptables, can't be downloaded here");
});
beforeEach(async () => {
  node = await PreparedNode.create();
  const withPath = async (plugin: string): Promise<CniCall> => {
    const call = await node.call(plugin);
    return { ...call, env: { ...call.env, PATH: searchPath() } };
  };
  ours = { bridge: await withPath("bridge"), tuning: await withPath("tuning") };
});
afterEach(() => node[Symbol.asyncDispose]());

/** Without what counts and what host-local keeps, and what ours keeps when another one deletes. */
async function state(): Promise<string> {
  const shown = await node.state();
  const kept = /^\/run\/(leases\/br1-net\/(last_reserved_ip\.0|lock)|cni\/cluster-network-addons\/.*)\n/gm;
  return shown.replaceAll(/packets \d+ bytes \d+/g, "").replaceAll(kept, "");
}

describe.each(shareOf(RELEASES))("beside the reference plugins %s", (release) => {
  const folder = folders[release];
  const theirs = (plugin: "bridge" | "tuning"): CniCall => {
    const call = ours[plugin];
    return { ...call, executable: path.join(folder ?? "", plugin), env: { ...call.env, CNI_PATH: folder ?? "" } };
  };

  /** Tables, the bridge's gateway address and its pinned MAC stay after a first attachment. */
  async function stateAfterFirst(config: object): Promise<string> {
    await add(theirs("bridge"), config);
    await del(theirs("bridge"), config);
    return state();
  }

  it.skipIf(folder === undefined).each(CONFIGS)("ours checks and deletes what it attached %s", async (_, config) => {
    const before = await stateAfterFirst(config);
    const prevResult = await add(theirs("bridge"), config);
    expect((await cni("CHECK", ours.bridge, { ...config, prevResult })).stdout).toBe("");
    await del(ours.bridge, config);
    expect(await state()).toBe(before);
  });

  it.skipIf(folder === undefined).each(CONFIGS)("it deletes what ours attached %s", async (_, config) => {
    const before = await stateAfterFirst(config);
    const prevResult = await add(ours.bridge, config);
    if ("ipam" in config) expect((await cni("CHECK", theirs("bridge"), { ...config, prevResult })).stdout).toBe("");
    await del(theirs("bridge"), { ...config, prevResult });
    expect(await state()).toBe(before);
    await node.forgetNetns();
    expect(await node.reap()).toBe(0);
    expect(await node.shell("ls /run/cni/cluster-network-addons/attachments")).toBe("");
  });

  it.skipIf(folder === undefined)("each restores what the other one tuned", async () => {
    const result = await add(ours.bridge, LAYER_2);
    const config = { ...TUNING, prevResult: result };
    // The kernel tells a new link's operational state some time after the link.
    const tuned = async () => ({ ...(await node.container.link("net1")), operstate: "any" });
    const before = await tuned();
    for (const [first, second] of [
      [ours.tuning, theirs("tuning")],
      [theirs("tuning"), ours.tuning],
    ] as const) {
      await add(first, config);
      expect(await node.container.link("net1")).toMatchObject({ address: TUNING.mac, mtu: TUNING.mtu });
      await del(second, config);
      expect(await tuned()).toEqual(before);
      expect(await node.shell("ls /run/cni/tuning 2>/dev/null; true")).toBe("");
    }
  });
});

const withoutTable = (shown: string): string => shown.replace(/table bridge nat [^}]*\}\n\}\n/, "");

describe("driven by cnitool", () => {
  it.skipIf(folders["1.9.1"] === undefined)(
    "a list of bridge and tuning is attached, checked, and deleted",
    async () => {
      const plugins = [
        { type: "bridge", bridge: BRIDGE, macspoofchk: true, ipam: HOST_LOCAL },
        { type: "tuning", mtu: 1400, sysctl: { "net.ipv4.conf.IFNAME.arp_notify": "1" } },
      ];
      const list = { cniVersion: "1.1.0", name: "br1-net", plugins };
      const cniPath = `${path.dirname(ours.bridge.executable ?? "")}:${folders["1.9.1"]}`;
      const cnitool = (verb: string): Promise<string> =>
        node.shell(`export NETCONFPATH=/run/conf CNI_PATH=${cniPath} CNI_IFNAME=net1
        ${folders["1.9.1"]}/cnitool ${verb} br1-net ${NETNS}`);
      await node.shell(
        `mount -t tmpfs tmpfs /var/lib; mkdir -p /run/conf /var/lib/cni; printf %s '${JSON.stringify(list)}' >/run/conf/10-br1.conflist`,
      );
      const before = await state();
      await cnitool("status");
      expect(JSON.parse(await cnitool("add"))).toMatchObject({
        cniVersion: "1.1.0",
        interfaces: [{ name: BRIDGE }, {}, { name: "net1", sandbox: NETNS, mtu: 1400 }],
      });
      await cnitool("check");
      await cnitool("del");
      await cnitool("del");
      expect(withoutTable(await state())).toBe(before);
    },
  );

  it
    .skipIf(!canRun)
    .each(
      WITH_CNITOOL.flatMap((release) => [
        [release, "the runtime", "/var/lib/cni/results"] as const,
        [release, "multus", "/var/lib/cni/multus/results"] as const,
      ]),
    )("what the reference %s attached for %s is reaped when its namespace is gone", async (release, _, results) => {
    const keys = { bridge: BRIDGE, macspoofchk: true, isGateway: true, ipMasq: true, ipam: HOST_LOCAL };
    const plugins = [
      { type: "bridge", ...keys },
      { type: "tuning", mtu: 1400 },
    ];
    const list = { cniVersion: "1.0.0", name: "br1-net", plugins };
    await node.shell(`mount -t tmpfs tmpfs /var/lib; mkdir -p /run/conf /var/lib/cni
      printf %s '${JSON.stringify(list)}' >/run/conf/10-br1.conflist`);
    const cnitool = (verb: string): Promise<string> =>
      node.shell(`export NETCONFPATH=/run/conf CNI_PATH=${folders[release]} CNI_IFNAME=net1
        ${folders[release]}/cnitool ${verb} br1-net ${NETNS}`);
    await cnitool("add");
    await cnitool("del");
    await node.forgetNetns();
    const before = await state();
    await node.nameNetns();
    await cnitool("add");
    // cnitool has libcni's default cache directory only.
    await node.shell(`mv /var/lib/cni/results /var/lib/cni/kept
      mkdir -p $(dirname ${results}) && mv /var/lib/cni/kept ${results}`);
    // Only then is the node's end of the pair gone too, as with the namespace itself.
    await node.container.ip("link", "delete", "net1");
    await node.forgetNetns();
    expect(await state()).not.toBe(before);
    expect(await node.reap()).toBe(0);
    expect(await state()).toBe(before);
  });
});
