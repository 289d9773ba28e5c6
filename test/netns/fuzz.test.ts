import { afterAll, beforeAll, expect, it } from "vitest";
import { cni } from "./cni-call.ts";
import { Random } from "./differential/random.ts";
import { COMMANDS, makeDocument } from "./hostile-document.ts";
import { type Namespace, Testbed } from "./testbed.ts";

const SEED = 20;
/** FUZZ_DOCUMENTS=5000 for the long run. */
const DOCUMENTS = Number(process.env.FUZZ_DOCUMENTS ?? 150);
const AT_ONCE = 4;
let testbed: Testbed;
let container: Namespace;

beforeAll(async () => {
  testbed = await Testbed.create();
  container = await testbed.container();
});

afterAll(() => testbed[Symbol.asyncDispose]());

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
