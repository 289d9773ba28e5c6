import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildPeers } from "../bench/peers.ts";
import { type CniAnswer, type CniCall, cni, pluginPath } from "./cni-call.ts";
import { type Namespace, Testbed } from "./testbed.ts";

const MAC = "02:5d:1c:00:00:a3";
const ORIGINAL_MAC = "02:00:00:00:00:01";
const TUNED = { mac: MAC, mtu: 1400, promisc: true, allmulti: true, txQLen: 77 };
const ORIGINALS = { mac: ORIGINAL_MAC, promisc: false, mtu: 1500, allmulti: false, txQLen: 1000 };
const ARP_NOTIFY = "/proc/sys/net/ipv4/conf/net1/arp_notify";

let ours: string;
let reference: string;
let testbed: Testbed;
let container: Namespace;
let dataDir: string;
let call: CniCall;

beforeAll(async () => {
  ours = await pluginPath("tuning");
  reference = path.join(await buildPeers(process.env), "tuning");
});

beforeEach(async () => {
  testbed = await Testbed.create();
  container = await testbed.container();
  await container.ip("link", "add", "net1", "address", ORIGINAL_MAC, "type", "veth", "peer", "name", "peer1");
  dataDir = await mkdtemp(path.join(tmpdir(), "tuning-"));
  call = { node: testbed.node, container, executable: ours };
});

afterEach(async () => {
  await testbed[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true });
});

function config(more: object, cniVersion = "1.0.0"): object {
  const interfaces = [{ name: "net1", mac: ORIGINAL_MAC, sandbox: container.path }, { name: "br1" }];
  return { cniVersion, name: "net", type: "tuning", dataDir, prevResult: { cniVersion, interfaces }, ...more };
}

/** What tuning changes, as the kernel shows it. */
async function tunables(): Promise<Record<string, unknown>> {
  const found = await container.link("net1");
  const txQLen = (found as { txqlen?: number } | undefined)?.txqlen;
  const { address, mtu, flags = [] } = found ?? {};
  return { mac: address, promisc: flags.includes("PROMISC"), mtu, allmulti: flags.includes("ALLMULTI"), txQLen };
}

async function sysctl(file: string): Promise<string> {
  return (await container.run(["cat", file])).stdout.trim();
}

async function succeed(command: string, more: object, one = call): Promise<CniAnswer> {
  const answer = await cni(command, one, config(more));
  expect([answer.code, answer.stdout]).toEqual([0, command === "ADD" ? expect.any(String) : ""]);
  return answer;
}

describe("tuning", () => {
  it("sets every attribute, answers with the result it was given and the new MAC, and DEL restores all", async () => {
    const { json } = await succeed("ADD", TUNED);
    expect(await tunables()).toEqual(TUNED);
    expect(json).toEqual({
      cniVersion: "1.0.0",
      interfaces: [{ name: "net1", mac: MAC, sandbox: container.path }, { name: "br1" }],
    });
    await succeed("DEL", TUNED);
    expect(await tunables()).toEqual(ORIGINALS);
    expect(await readdir(dataDir)).toEqual([]);
  });

  it("tells the new MTU in version 1.1.0", async () => {
    const { json } = await cni("ADD", call, config({ mtu: 1400 }, "1.1.0"));
    expect(json?.interfaces).toEqual([expect.objectContaining({ mtu: 1400, mac: ORIGINAL_MAC }), { name: "br1" }]);
  });

  it("keeps its file private", async () => {
    await rm(dataDir, { recursive: true });
    await succeed("ADD", TUNED);
    const file = path.join(dataDir, "container_net1.json");
    expect([(await stat(dataDir)).mode & 0o777, (await stat(file)).mode & 0o777]).toEqual([0o700, 0o600]);
    expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject(ORIGINALS);
  });

  it("remembers the originals of the first ADD when there is a second", async () => {
    await succeed("ADD", { mtu: 1400 });
    await succeed("ADD", { mtu: 1300, mac: MAC });
    await succeed("DEL", {});
    expect(await tunables()).toEqual(ORIGINALS);
  });

  it("takes args.cni before runtimeConfig, that before CNI_ARGS, and that before its own key", async () => {
    const env = { CNI_ARGS: "MAC=02:00:00:00:00:03;IgnoreUnknown=1" };
    const runtimeConfig = { mac: "02:00:00:00:00:04" };
    const args = { cni: { mac: "02:00:00:00:00:05", promisc: false, mtu: 1350 } };
    await succeed("ADD", { ...TUNED, mac: "02:00:00:00:00:02" }, { ...call, env });
    expect(await tunables()).toMatchObject({ mac: "02:00:00:00:00:03" });
    await succeed("ADD", { ...TUNED, runtimeConfig }, { ...call, env });
    expect(await tunables()).toMatchObject({ mac: "02:00:00:00:00:04" });
    await succeed("DEL", {});
    await succeed("ADD", { ...TUNED, runtimeConfig, args }, { ...call, env });
    expect(await tunables()).toMatchObject({ mac: "02:00:00:00:00:05", promisc: false, mtu: 1350 });
  });

  it("takes a MAC without separators from every place, and CHECK finds it", async () => {
    const mac = "025D1C0000a3";
    const env = { CNI_ARGS: `MAC=${mac};IgnoreUnknown=1` };
    for (const [more, one] of [
      [{ mac }, call],
      [{ runtimeConfig: { mac } }, call],
      [{ args: { cni: { mac } } }, call],
      [{}, { ...call, env }],
    ] as const) {
      await succeed("ADD", more, one);
      expect(await tunables()).toMatchObject({ mac: MAC });
      await succeed("CHECK", more, one);
      await succeed("DEL", more, one);
      expect(await tunables()).toMatchObject({ mac: ORIGINAL_MAC });
    }
  });

  it("sets sysctls in the container, those of args.cni too when there are no others", async () => {
    await succeed("ADD", { sysctl: { "net.ipv4.conf.IFNAME.arp_notify": "1" } });
    expect(await sysctl(ARP_NOTIFY)).toBe("1");
    await succeed("ADD", { args: { cni: { sysctl: { "net.ipv4.conf.IFNAME.arp_notify": "0" } } } });
    expect(await sysctl(ARP_NOTIFY)).toBe("0");
    expect(await readdir(dataDir)).toEqual([]);
  });

  it("takes everything back when a later step fails", async () => {
    const sysctls = { "net.ipv4.conf.IFNAME.arp_notify": "1", "net.ipv4.conf.IFNAME.arp_ignore": "no number" };
    const { code, json } = await cni("ADD", call, config({ ...TUNED, sysctl: sysctls }));
    expect([code, json]).toEqual([
      1,
      expect.objectContaining({ code: 101, msg: expect.stringContaining("arp_ignore") }),
    ]);
    expect([await tunables(), await sysctl(ARP_NOTIFY), await readdir(dataDir)]).toEqual([ORIGINALS, "0", []]);
    const tooSmall = await cni(
      "ADD",
      call,
      config({ ...TUNED, mtu: 5, sysctl: { "net.ipv4.conf.IFNAME.arp_notify": "1" } }),
    );
    expect(tooSmall.json).toMatchObject({ code: 101, msg: expect.stringContaining("set the MTU") });
    expect([await tunables(), await sysctl(ARP_NOTIFY), await readdir(dataDir)]).toEqual([ORIGINALS, "0", []]);
  });

  it("CHECK is content until somebody changes what was set, whatever the case and white space", async () => {
    const more = { ...TUNED, mac: MAC.toUpperCase(), sysctl: { "net.ipv4.tcp_rmem": "4096 65536 1000000" } };
    await succeed("ADD", more);
    await succeed("CHECK", more);
    await container.ip("link", "set", "net1", "mtu", "1300");
    const { json } = await cni("CHECK", call, config(more));
    expect(json).toMatchObject({ code: 106, msg: expect.stringContaining("net1 has MTU 1300, not 1400") });
    await succeed("CHECK", { ...more, mtu: 1300 });
    await container.ip("link", "set", "net1", "promisc", "on");
    await succeed("CHECK", { mac: MAC });
  });

  it("DEL forgets the state of a container that is gone, and does not mind that there is none", async () => {
    await succeed("ADD", TUNED);
    await succeed("DEL", TUNED, { node: testbed.node, executable: ours, env: { CNI_NETNS: "/run/netns/gone" } });
    expect(await readdir(dataDir)).toEqual([]);
    await succeed("DEL", TUNED, { node: testbed.node, executable: ours });
  });

  it("GC forgets what the runtime does not list, of its own network", async () => {
    await succeed("ADD", { mtu: 1400 });
    await succeed("ADD", { mtu: 1400 }, { ...call, containerId: "other" });
    await succeed("ADD", { mtu: 1400, name: "other-net" }, { ...call, containerId: "third" });
    const listed = [{ containerID: "container", ifname: "net1" }];
    const gc = { ...config({ "cni.dev/valid-attachments": listed }, "1.1.0"), prevResult: undefined };
    expect(await cni("GC", { node: testbed.node, executable: ours }, gc)).toMatchObject({ code: 0, stdout: "" });
    expect((await readdir(dataDir)).sort()).toEqual(["container_net1.json", "third_net1.json"]);
    const records = await testbed.node.run(["ls", "/run/cni/cluster-network-addons/attachments"]);
    expect(records.stdout).toBe("container~net1~tuning.json\nthird~net1~tuning.json\n");
  });

  it.each<[string, object, number, string]>([
    ["no prevResult", { prevResult: null }, 7, '"prevResult" is missing'],
    ["a prevResult of another generation", { prevResult: { cniVersion: "0.2.0", interfaces: [] } }, 7, "must convert"],
    ["a key outside the network", { sysctl: { "kernel.hostname": "x" } }, 7, "only keys below net"],
    ["climbing out", { sysctl: { "net/../kernel/hostname": "x" } }, 101, "no such sysctl"],
    ["an unknown sysctl", { sysctl: { "net.ipv4.nonsense": "1" } }, 101, "no such sysctl"],
    ["a sysctl that is no string", { sysctl: { "net.ipv4.ip_forward": 1 } }, 7, "must be a string, found 1"],
    ["a MAC that is none", { mac: "02:00" }, 7, 'mac: "02:00" is not a MAC address'],
    ["a multicast MAC", { mac: "01:00:00:00:00:01" }, 7, "is a multicast address"],
    ["a wrong type", { txQLen: "many" }, 7, '"txQLen" must be a whole number'],
    ["a relative dataDir", { dataDir: "state" }, 7, '"dataDir" must be an absolute path'],
  ])("refuses %s and changes nothing", async (_, more, errorCode, message) => {
    const { code, json } = await cni("ADD", call, config({ mtu: 1400, ...more }));
    expect([code, json]).toEqual([
      1,
      expect.objectContaining({ code: errorCode, msg: expect.stringContaining(message) }),
    ]);
    expect([await tunables(), await readdir(dataDir)]).toEqual([ORIGINALS, []]);
  });

  it("refuses a sysctl that is there twice, which JSON would hide", async () => {
    const twice = JSON.stringify(config({ sysctl: { "net.ipv4.ip_forward": "1" } })).replace(
      '{"net.ipv4.ip_forward"',
      '{"net.ipv4.ip_forward":"0","net.ipv4.ip_forward"',
    );
    const { json } = await cni("ADD", call, twice);
    expect(json).toMatchObject({ code: 7, msg: expect.stringContaining('the key "net.ipv4.ip_forward" twice') });
  });

  it("refuses an interface that is not there", async () => {
    const { json } = await cni("ADD", { ...call, ifname: "net9" }, config({ mtu: 1400 }));
    expect(json).toMatchObject({ code: 7, msg: expect.stringContaining("interface net9 not found") });
  });
});

describe("tuning beside the Go reference plugin", () => {
  it.each(["0.3.1", "0.4.0", "1.0.0", "1.1.0"])("answers alike in version %s", async (cniVersion) => {
    const cases = [{}, { mac: MAC }, { mac: MAC, promisc: true, allmulti: false, txQLen: 5 }];
    for (const more of cases) {
      const answers: unknown[] = [];
      for (const executable of [ours, reference]) {
        const { code, json } = await cni("ADD", { ...call, executable }, config(more, cniVersion));
        answers.push([code, { dns: {}, ...json }, await tunables()]);
        await cni("DEL", { ...call, executable }, config(more, cniVersion));
      }
      expect(answers[0]).toEqual(answers[1]);
    }
  });

  it.each([
    ["ours", "the reference"],
    ["the reference", "ours"],
  ])("what %s tuned is restored by %s", async (first) => {
    const [adds, dels] = first === "ours" ? [ours, reference] : [reference, ours];
    await succeed("ADD", TUNED, { ...call, executable: adds });
    expect(await tunables()).toEqual(TUNED);
    await succeed("DEL", TUNED, { ...call, executable: dels });
    expect(await tunables()).toEqual(ORIGINALS);
    expect(await readdir(dataDir)).toEqual([]);
  });

  it("leaves a damaged state file's interface as it is, and removes the file", async () => {
    await writeFile(path.join(dataDir, "container_net1.json"), "{");
    await succeed("DEL", TUNED);
    expect([await tunables(), await readdir(dataDir)]).toEqual([ORIGINALS, []]);
  });
});
