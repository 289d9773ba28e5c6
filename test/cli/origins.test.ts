import { afterEach, beforeEach, expect, it } from "vitest";
import { AGO, FIRST } from "./support/answers.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { CLAIM, POOL } from "./support/objects.ts";
import { type Script, status } from "./support/scripted-cluster.ts";

const [WEB] = CLAIM.status.owners;
const THIEF = { ...WEB, kind: "Pod", namespace: "lab", name: "thief", since: AGO(120) };
const metadata = { ...CLAIM.metadata, creationTimestamp: AGO(86_400) };
const shared = { ...CLAIM, metadata, status: { ...CLAIM.status, owners: [{ ...WEB, since: AGO(86_400) }, THIEF] } };
const RANGE = "02:5d:1c:00:00:00-02:5d:1c:ff:ff:ff";
/** The service is away: the objects answer. */
const objects = (claim: object): Script => ({ proxy: status(503, "no endpoints available"), claims: [claim] });

let harness: CliHarness;

beforeEach(async () => {
  harness = await CliHarness.start();
});
afterEach(async () => {
  await harness[Symbol.asyncDispose]();
});

const linesOf = async (script: Script, ...argv: string[]): Promise<string[]> => {
  const { stdout } = await harness.say(script, ...argv);
  return stdout.split("\n").map((line) => line.trim());
};

it("are told of each owner: only the first was given the address", async () => {
  const lines = await linesOf(objects(shared), "find", FIRST);
  expect(lines.filter((line) => line.startsWith("origin"))).toEqual([
    `origin      automatic, from pool default (${RANGE})`,
    `origin      explicit, in pool default (${RANGE})`,
  ]);
  const wide = await linesOf(objects(shared), "list", "-A", "-o", "wide");
  expect(wide.slice(1, 3).map((line) => /automatic|explicit/.exec(line)?.[0])).toEqual(["automatic", "explicit"]);
  expect((await linesOf(objects(shared), "explain", "pod/lab/thief")).join("\n")).toContain("(explicit, pool default)");
});

it("name the pool whose range has the address", async () => {
  const ofShop = { ...CLAIM, spec: { ...CLAIM.spec, pool: "shop", origin: "explicit" } };
  const shop = { ...POOL, metadata: { name: "shop" }, status: { ...POOL.status, ranges: [] } };
  expect(await linesOf({ ...objects(ofShop), pools: [shop, POOL] }, "find", FIRST)).toContain(
    `origin      explicit, of pool shop, in a range of pool default (${RANGE})`,
  );
});

it("leave the age of a shared address to its second owner", async () => {
  const lines = await linesOf(objects(shared), "doctor");
  expect(lines).toContain(`SHARED_ADDRESS  ${FIRST} (for 2 minutes)`);
});

it("are one finding where the same owners share several addresses", async () => {
  const second = "02:5d:1c:00:00:ee";
  const name = `mac-${second.replaceAll(":", "-")}`;
  const other = { ...shared, metadata: { ...metadata, name }, spec: { ...shared.spec, mac: second } };
  const lines = await linesOf({ ...objects(shared), claims: [shared, other] }, "doctor");
  expect(lines.filter((line) => line.startsWith("SHARED_ADDRESS"))).toHaveLength(1);
  expect(lines).toContain("VirtualMachine default/web and Pod lab/thief have 2 addresses.");
});
