import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/kube/clock.ts";
import { silentLog } from "../../src/kube/log.ts";
import { Reaper } from "../../src/linux-bridge/reaper.ts";
import { buildPeers } from "../bench/peers.ts";
import { add, type CniCall, del, pluginPath } from "./cni-call.ts";
import { killedAt, type SystemCall, systemCallsOf } from "./killed-call.ts";
import { type Namespace, Testbed } from "./testbed.ts";

/**
 * Otherwise: calls that change something outside the process, because what is between two of them leaves nothing more
 * behind; on layer 2 each of them, else one in three. With KILL_AT_EVERY_CALL=1 it takes some minutes.
 */
const EVERY_CALL = process.env.KILL_AT_EVERY_CALL === "1";

const SAMPLED = 3;

const NETNS = "/run/netns/pod";
const CONFIG = { cniVersion: "1.0.0", name: "br1-net", type: "bridge", bridge: "br1" };
const IPAM = { type: "host-local", dataDir: "/run/leases", ranges: [[{ subnet: "10.9.0.0/24" }]] };
const CONFIGS: readonly [string, object][] = [
  ["on layer 2", CONFIG],
  ["with addresses and spoof check", { ...CONFIG, macspoofchk: true, ipam: IPAM }],
  [
    "with gateway and masquerading",
    { ...CONFIG, isGateway: true, ipMasq: true, ipMasqBackend: "nftables", ipam: IPAM },
  ],
];
const INTERFACES = [{ name: "net1", sandbox: NETNS }];
const TUNING = {
  ...{ cniVersion: "1.0.0", name: "br1-net", type: "tuning", mac: "02:00:00:00:00:99", mtu: 1400, txQLen: 5 },
  prevResult: { cniVersion: "1.0.0", interfaces: INTERFACES },
};

let bridge: string;
let tuning: string;
let peers: string;
let testbed: Testbed;
let node: Namespace;
let container: Namespace;
let call: CniCall;
let scratch: string;

beforeAll(async () => {
  [bridge, tuning] = [await pluginPath("bridge"), await pluginPath("tuning")];
  peers = await buildPeers(process.env);
});

beforeEach(async () => {
  testbed = await Testbed.create();
  node = testbed.node;
  container = await testbed.container();
  scratch = await mkdtemp(path.join(tmpdir(), "kill-"));
  await makeBridge();
  await nameNetns();
  call = { node, executable: bridge, env: { CNI_NETNS: NETNS, CNI_PATH: peers } };
});

afterEach(async () => {
  await testbed[Symbol.asyncDispose]();
  await rm(scratch, { recursive: true });
});

async function shell(script: string): Promise<string> {
  const { code, stdout, stderr } = await node.run(["/bin/sh", "-c", script], {
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
  });
  if (code !== 0) throw new Error(`${script}: ${stderr}`);
  return stdout;
}

/** With a port of its own, so that nothing about it depends on ours; without IPv6, whose addresses settle in time. */
async function makeBridge(): Promise<void> {
  const withoutIpv6 = ["/bin/sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6"];
  for (const namespace of [node, container]) await namespace.run(withoutIpv6);
  await node.ip("link", "add", "br1", "address", "02:00:00:00:00:01", "up", "type", "bridge");
  await node.ip("link", "add", "keep0", "up", "master", "br1", "type", "veth", "peer", "name", "keep1");
  await node.ip("link", "set", "keep1", "up");
}

const nameNetns = (): Promise<string> =>
  shell(`mkdir -p /run/netns && touch ${NETNS} && mount --bind ${container.path} ${NETNS}`);

/** The runtime takes the name away; something still holds the namespace, and with it the pair. */
const forgetNetns = (): Promise<string> => shell(`umount ${NETNS} && rm ${NETNS}`);

/** All that a call could leave on the node: links, addresses, rules, and files under /run. */
async function state(): Promise<string> {
  return (await testbed.state(container)) + (await shell("nft list ruleset; find /run -type f | sort"));
}

async function reap(): Promise<void> {
  for (const [name, executable] of [
    ["bridge", bridge],
    ["tuning", tuning],
  ] as const) {
    const argv = node.enter([executable]).join(" ");
    await writeFile(path.join(scratch, name), `#!/bin/sh\nPATH=/usr/sbin:/usr/bin:/sbin:/bin\nexec ${argv}\n`, {
      mode: 0o755,
    });
  }
  const seen = `/proc/${node.pid}/root/run`;
  const reaper = new Reaper({
    recordDirectory: `${seen}/cni/cluster-network-addons/attachments`,
    netnsDirectory: `${seen}/netns`,
    pluginDirectory: scratch,
    plugins: ["bridge", "tuning"],
    cniPath: peers,
    onReaped: () => {},
    clock: systemClock,
    log: silentLog,
    graceMs: 0,
  });
  expect(await reaper.pass()).toBe(0);
}

/** Where to kill, from a run after a first one that made the folders. */
async function killPoints(command: "ADD" | "DEL", one: CniCall, config: object): Promise<SystemCall[]> {
  await add(one, config);
  if (command === "ADD") await del(one, config);
  const calls = await systemCallsOf(command, one, config);
  expect(calls.length).toBeGreaterThan(50);
  if (EVERY_CALL) return calls;
  const changing = calls.filter(({ changes }) => changes);
  return "ipam" in config ? changing.filter((_, at) => at % SAMPLED === 0) : changing;
}

describe("a plugin that is killed on its way into any system call", () => {
  it.each(CONFIGS)("an ADD %s leaves nothing that DEL does not remove", async (_, config) => {
    const points = await killPoints("ADD", call, config);
    await del(call, config);
    const before = await state();
    for (const point of points) {
      await killedAt(point, "ADD", call, config);
      await del(call, config);
      expect(await state(), `ADD killed at ${point.name} ${point.nth}`).toBe(before);
    }
  });

  it.each(CONFIGS)("a DEL %s is finished by the next one", async (_, config) => {
    const points = await killPoints("DEL", call, config);
    const before = await state();
    for (const point of points) {
      await add(call, config);
      await killedAt(point, "DEL", call, config);
      await del(call, config);
      expect(await state(), `DEL killed at ${point.name} ${point.nth}`).toBe(before);
    }
  });

  it.each(CONFIGS)("an ADD or DEL %s whose container goes away is finished by the reaper", async (_, config) => {
    const points = await killPoints("ADD", call, config);
    await del(call, config);
    const again = await killPoints("DEL", call, config);
    await forgetNetns();
    const before = await state();
    for (const [command, point] of [
      ...points.map((one) => ["ADD", one] as const),
      ...again.map((one) => ["DEL", one] as const),
    ]) {
      await nameNetns();
      if (command === "DEL") await add(call, config);
      await killedAt(point, command, call, config);
      await forgetNetns();
      await reap();
      expect(await state(), `${command} killed at ${point.name} ${point.nth}`).toBe(before);
    }
  });

  it("tuning: the interface is as it was after DEL, whenever ADD or DEL ended", async () => {
    await add(call, CONFIG);
    const one = { ...call, executable: tuning };
    const before = await state();
    const points = await killPoints("ADD", one, TUNING);
    await del(one, TUNING);
    const again = await killPoints("DEL", one, TUNING);
    for (const [command, point] of [
      ...points.map((point) => ["ADD", point] as const),
      ...again.map((point) => ["DEL", point] as const),
    ]) {
      if (command === "DEL") await add(one, TUNING);
      await killedAt(point, command, one, TUNING);
      await del(one, TUNING);
      expect(await state(), `${command} killed at ${point.name} ${point.nth}`).toBe(before);
    }
  });
});
