import { afterAll, beforeAll, expect, it } from "vitest";
import { cni } from "./cni-call.ts";
import { Random } from "./differential/random.ts";
import { type Namespace, Testbed } from "./testbed.ts";

const SEED = 20;
/** FUZZ_DOCUMENTS=5000 for the long run. */
const DOCUMENTS = Number(process.env.FUZZ_DOCUMENTS ?? 150);
const AT_ONCE = 4;
const COMMANDS = ["ADD", "DEL", "CHECK", "STATUS", "GC", "BAD"] as const;
const KEYS = [
  "cniVersion",
  "name",
  "bridge",
  "mtu",
  "vlan",
  "vlanTrunk",
  "ipam",
  "dns",
  "runtimeConfig",
  "args",
  "prevResult",
  "__proto__",
] as const;

let testbed: Testbed;
let container: Namespace;

beforeAll(async () => {
  testbed = await Testbed.create();
  container = await testbed.container();
});

afterAll(() => testbed[Symbol.asyncDispose]());

function value(random: Random, depth: number): unknown {
  const kind = random.pick(["text", "number", "flag", "null", "list", "object", "version"]);
  if (kind === "text")
    return random.pick(["", "br1", "\0", "\ud800", "a".repeat(5000), "../x", "ä", "-1", "host-local"]);
  if (kind === "number") return random.pick([0, -1, 1.5, 1e308, 4095, 65536, 2 ** 53]);
  if (kind === "flag") return random.chance(0.5);
  if (kind === "version") return random.pick(["0.2.0", "0.4.0", "1.1.0", "7"]);
  if (kind === "null" || depth === 0) return null;
  const length = Math.floor(random.next() * 4);
  if (kind === "list") return Array.from({ length }, () => value(random, depth - 1));
  const entries = Array.from({ length }, () => [
    random.pick([...KEYS, "id", "type", "mac", "interfaces", "ips"]),
    value(random, depth - 1),
  ]);
  return Object.fromEntries(entries);
}

function makeDocument(random: Random): string | Buffer {
  const base = { cniVersion: "1.1.0", name: "net", type: "bridge", bridge: "br1" };
  const spoiled = Object.fromEntries([0, 1, 2].map(() => [random.pick(KEYS), value(random, 4)]));
  const text = JSON.stringify({ ...base, ...spoiled });
  const way = random.pick(["whole", "whole", "whole", "cut", "bytes", "deep", "twice", "large"]);
  if (way === "cut") return text.slice(0, Math.floor(random.next() * text.length));
  if (way === "deep") return `{"args":${"[".repeat(20_000)}`;
  if (way === "twice") return text.replace("{", `{"name":5,"bridge":[],`);
  if (way === "large") return `${text.slice(0, -1)},"x":"${"y".repeat(2 << 20)}"}`;
  if (way === "whole") return text;
  const bytes = Buffer.from(text);
  for (let i = 0; i < 5; i++) bytes[Math.floor(random.next() * bytes.length)] = Math.floor(random.next() * 256);
  return bytes;
}

async function answerOf(number: number): Promise<void> {
  const random = new Random(SEED * 1_000_003 + number);
  const document = makeDocument(random);
  const call = { node: testbed.node, container, containerId: `c${number}`, ifname: `f${number}` };
  const command = random.pick(COMMANDS);
  const { code, stdout, json } = await cni(command, call, document);
  const shown = `${command} ${document.toString().slice(0, 300)}\n${stdout.slice(0, 300)}`;
  expect([0, 1], shown).toContain(code);
  if (code === 1) expect(json, shown).toMatchObject({ cniVersion: expect.any(String), msg: expect.any(String) });
  if (code === 1) expect(json?.code, shown).not.toBe(100);
  if (command === "ADD" && code === 0) {
    const { code: deleted } = await cni("DEL", call, document);
    expect(deleted, shown).toBe(0);
  }
}

it("every hostile document gets one JSON answer, and nothing is left behind", { timeout: 600_000 }, async () => {
  for (let first = 0; first < DOCUMENTS; first += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, DOCUMENTS - first) }, (_, i) => first + i);
    await Promise.all(numbers.map(answerOf));
  }
  const links = await testbed.node.links();
  expect(links.filter(({ linkinfo }) => linkinfo?.info_kind === "veth")).toEqual([]);
  expect((await container.links()).map(({ ifname }) => ifname)).toEqual(["lo"]);
});
