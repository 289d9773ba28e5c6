import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { claimName, type Mac, parseMac } from "../../src/api/mac.ts";
import { CLAIM_BREAK_GLASS } from "../../src/api/mac-claim.ts";
import { parseRangeText, rangeSize } from "../../src/api/mac-range.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { PoolFixture } from "../mac-pool/pool-fixture.ts";
import { CliProcess } from "./support/cli-process.ts";

/** Two clusters, each with a pool and claims and without a replica: their state is what is compared. */

const RANGES = { a: "02:5d:1c:00:00:00-02:5d:1c:00:ff:ff", b: "02:5d:1c:00:80:00-02:5d:1c:01:7f:ff" };
const MACS = { a: ["02:5d:1c:00:90:01", "02:5d:1c:00:00:01"], b: ["02:5d:1c:00:90:01", "02:5d:1c:01:00:01"] };
type Name = keyof typeof RANGES;
const NAMES: readonly Name[] = ["a", "b"];

const beds: PoolFixture[] = [];
let cli: CliProcess;

beforeAll(async () => {
  cli = await CliProcess.build();
  for (const name of NAMES) {
    const harness = await PoolFixture.start({ kubevirt: false });
    beds.push(harness);
    await fill(harness, name);
  }
  cli.kubeconfig = await cli.write("kubeconfig", JSON.stringify(merged()));
});
afterAll(async () => {
  await Promise.all(beds.map((harness) => harness[Symbol.asyncDispose]()));
  await cli?.[Symbol.asyncDispose]();
});

async function fill(harness: PoolFixture, name: Name): Promise<void> {
  const range = RANGES[name];
  const [start = "", end = ""] = range.split("-");
  await harness.admin.create(KINDS.pools, { metadata: { name: "default" }, spec: { ranges: [{ start, end }] } });
  const parsed = parseRangeText(range);
  const capacity = parsed === undefined ? 0 : rangeSize(parsed);
  const status = { observedGeneration: 1, ranges: [range], capacity, used: 2, free: capacity - 2 };
  const patch = { type: "merge", body: { status } } as const;
  await harness.admin.patch(KINDS.pools, { name: "default" }, patch, { subresource: "status" });
  for (const mac of MACS[name]) {
    await harness.admin.create(KINDS.claims, {
      metadata: { name: claimName(parseMac(mac) as Mac), annotations: { [CLAIM_BREAK_GLASS]: "true" } },
      spec: { mac, pool: "default", origin: "automatic" },
      status: {
        phase: "Allocated",
        owners: [
          { kind: "Pod", namespace: "default", name: `of-${name}`, interface: "net1", since: "2026-01-01T00:00:00Z" },
        ],
      },
    });
  }
}

/** One kubeconfig with both clusters, and with the first under a second name. */
function merged(): object {
  const parts = beds.map((harness) => parse(harness.controlPlane.kubeconfigText));
  const named = parts.map((part, index) => ({ part, name: NAMES[index] ?? "" }));
  const again = [...named, ...named.slice(0, 1).map(({ part }) => ({ part, name: "again" }))];
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: again.map(({ part, name }) => ({ ...part.clusters[0], name })),
    users: again.map(({ part, name }) => ({ ...part.users[0], name })),
    contexts: again.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    "current-context": "a",
  };
}

it("names the ranges and the addresses that both clusters hand out", async () => {
  const ranges = await cli.run("ranges", "--contexts", "a,b");
  expect(ranges.code).toBe(1);
  expect(ranges.stdout).toContain(
    "Overlap: a/default and b/default both hand out 02:5d:1c:00:80:00-02:5d:1c:00:ff:ff (32,768 addresses).\n",
  );
  const shared = JSON.parse((await cli.run("collisions", "--contexts", "a,b", "-o", "json")).stdout);
  expect(shared).toMatchObject({
    clusters: ["a", "b"],
    total: 1,
    items: [{ mac: "02:5d:1c:00:90:01", holders: [{ cluster: "a" }, { cluster: "b" }] }],
  });
});

it("says before an installation which range another cluster has", async () => {
  const asked = ["preflight", "--range", RANGES.a, "--contexts", "b", "-o", "json"];
  const { code, stdout } = await cli.run(...asked);
  expect(code).toBe(1);
  expect(JSON.parse(stdout).items).toContainEqual({
    check: "range",
    state: "do",
    text: "Context b hands out 02:5d:1c:00:80:00-02:5d:1c:00:ff:ff too (32,768 addresses): take another range.",
    commands: [expect.stringMatching(/^kubectl macpool preflight --contexts b --range 02:\S+$/)],
  });
});

it("proposes a range that neither has, and says that it is free of overlaps when one cluster takes it", async () => {
  const { suggestion } = JSON.parse((await cli.run("ranges", "--contexts", "a,b", "--suggest", "-ojson")).stdout);
  const [, second] = beds;
  if (second === undefined) throw new Error("there is no second cluster");
  const status = { ranges: [`${suggestion.first}-${suggestion.last}`] };
  const patch = { type: "merge", body: { status } } as const;
  await second.admin.patch(KINDS.pools, { name: "default" }, patch, { subresource: "status" });
  expect(await cli.run("ranges", "--contexts", "a,b")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("No two of the 2 clusters hand out the same addresses.\n"),
  });
});

it("takes one cluster under two names for one", async () => {
  expect(await cli.run("collisions", "--contexts", "a,again")).toMatchObject({
    code: 2,
    stderr: "error: contexts a and again are the same cluster: name each cluster once\n",
  });
});

it("says which cluster can't be read, and compares nothing", async () => {
  const { kubeconfig } = cli;
  const broken = JSON.parse(JSON.stringify(merged()));
  broken.clusters[1].cluster.server = "https://127.0.0.1:1";
  cli.kubeconfig = await cli.write("broken", JSON.stringify(broken));
  const ended = await cli.run("ranges", "--contexts", "a,b");
  cli.kubeconfig = kubeconfig;
  expect(ended).toMatchObject({ code: 2, stdout: "" });
  expect(ended.stderr).toMatch(
    /^error: context b: the API server https:\/\/127\.0\.0\.1:1 can't be reached \(ECONNREFUSED\)/m,
  );
});
