import { expect, it } from "vitest";
import { Random } from "../support/random.ts";
import { share } from "../support/share.ts";
import { type CniCall, cni } from "./cni-call.ts";
import { BRIDGE, COMMANDS, makeDocument, TUNING } from "./hostile-document.ts";
import { call, freshPreparedNode, node, BRIDGE as PREPARED_BRIDGE } from "./prepared-node.ts";

const SEED = 20;
/** FUZZ_DOCUMENTS=5000 for the long run. */
const DOCUMENTS = Number(process.env.FUZZ_DOCUMENTS ?? share(150));
const AT_ONCE = 4;

freshPreparedNode();

/** The plugins in turn; `tuning` has an interface for each of the calls that run at once. */
function originalOf(number: number, tuning: CniCall): [CniCall, typeof BRIDGE] {
  const containerId = `c${number}`;
  if (number % 2 === 0) return [{ ...call, containerId, ifname: `f${number}` }, BRIDGE];
  return [{ ...tuning, containerId, ifname: `t${number % AT_ONCE}` }, TUNING];
}

/** Whether it was an ADD that succeeded, and was taken back. */
async function answerOf(number: number, tuning: CniCall): Promise<boolean> {
  const random = new Random(SEED * 1_000_003 + number);
  const [one, original] = originalOf(number, tuning);
  const document = makeDocument(random, original);
  const command = random.pick(["ADD", "ADD", "ADD", ...COMMANDS]);
  const { code, stdout, json } = await cni(command, one, document);
  const shown = `document ${number}, ${command} ${document.toString().slice(0, 300)}\n${stdout.slice(0, 300)}`;
  expect([0, 1], shown).toContain(code);
  if (code === 1) expect(json, shown).toMatchObject({ cniVersion: expect.any(String), msg: expect.any(String) });
  if (code === 1) expect(json?.code, shown).not.toBe(100);
  if (command !== "ADD" || code !== 0) return false;
  const { code: deleted } = await cni("DEL", one, document);
  expect(deleted, shown).toBe(0);
  return true;
}

/** A first attachment, and its end, make the tables of rules and the folders that stay. */
async function makeWhatStays(): Promise<void> {
  const [ipam] = BRIDGE.plausible.ipam ?? [];
  const config = { ...BRIDGE.base, bridge: PREPARED_BRIDGE, macspoofchk: true, isGateway: true, ipMasq: true, ipam };
  for (const command of ["ADD", "DEL"]) expect(await cni(command, call, config)).toMatchObject({ code: 0 });
}

/** Without bridges, which stay, and without host-local's own lock and memory, which no lease is. */
async function stateWithoutBridges(): Promise<string[]> {
  for (const { ifname, linkinfo } of await node.node.links()) {
    if (linkinfo?.info_kind === "bridge") await node.node.ip("link", "del", "dev", ifname);
  }
  const state = `${await node.state()}${await node.shell("find /var/lib -type f | sort")}`;
  return state.split("\n").filter((line) => !/\/(lock|last_reserved_ip\.\d+)$/.test(line));
}

it("every hostile document gets one JSON answer, and nothing is left behind", { timeout: 600_000 }, async () => {
  const tuning = await node.call("tuning");
  // IPAM plugins keep their leases there that are not told where.
  await node.shell("mount -t tmpfs tmpfs /var/lib");
  for (let slot = 1; slot < AT_ONCE; slot += 2) {
    await node.container.ip("link", "add", `t${slot}`, "type", "veth", "peer", "name", `u${slot}`);
  }
  await makeWhatStays();
  const before = await stateWithoutBridges();
  const added = [0, 0];
  for (let first = 0; first < DOCUMENTS; first += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, DOCUMENTS - first) }, (_, i) => first + i);
    const answers = await Promise.all(numbers.map((number) => answerOf(number, tuning)));
    for (const [at, number] of numbers.entries()) if (answers[at]) added[number % 2] = (added[number % 2] ?? 0) + 1;
  }
  expect(await stateWithoutBridges()).toEqual(before);
  // Otherwise there was nothing that could have been left.
  expect(Math.min(...added)).toBeGreaterThan(0);
});
