import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PRODUCT_VERSION } from "../../src/api/names.ts";
import type { CollisionView, FindingView, PoolView } from "../../src/mac-pool/inspection/rest/views.ts";
import { pools } from "./support/answers.ts";
import { CliHarness } from "./support/cli-harness.ts";
import * as diagnosis from "./support/diagnosis-answers.ts";
import { problem } from "./support/scripted-cluster.ts";

let harness: CliHarness;

beforeEach(async () => {
  harness = await CliHarness.start();
});
afterEach(async () => {
  await harness[Symbol.asyncDispose]();
});

interface State {
  readonly pools?: readonly PoolView[];
  readonly findings?: readonly FindingView[];
  readonly collisions?: readonly CollisionView[];
}

/** Runs the command in a cluster where these are wrong. */
function say({ pools: known = pools, findings = [], collisions = [] }: State, ...argv: string[]) {
  const list = (items: readonly object[]) => ({ body: { items, total: items.length } });
  const answers = {
    pools: list(known),
    collisions: list(collisions),
    consistency: { body: { ...diagnosis.healthy, findings, total: findings.length } },
  };
  return harness.say({ rest: (path) => answers[path as keyof typeof answers] }, ...argv);
}

const FINDINGS: readonly FindingView[] = [
  {
    code: "NETWORK_FAULTY",
    network: { namespace: "lab", name: "blue" },
    message: "Network lab/blue: no node has its bridge.",
    advice: "br9 is published by none of 3 nodes. Make it on a node.",
  },
  {
    code: "BRIDGE_FAULTY",
    bridge: "br3",
    message: "Bridge br3: uplink is down on node-b.",
    advice: "Find the uplink.",
  },
];

describe("kubectl macpool status", () => {
  it("names what is wrong with networks, and the command that shows it", async () => {
    const { stdout, exitCode } = await say({ findings: FINDINGS }, "status");
    expect(exitCode).toBe(1);
    expect(stdout.split("\n\n")[1]).toBe(
      "Of networks: NETWORK_FAULTY, BRIDGE_FAULTY. kubectl macpool networks shows where.\n" +
        "2 problems: kubectl macpool doctor says what to do about each.\n",
    );
  });

  it("names collisions, also those that doctor does not count, and ends with 1", async () => {
    const [, , said] = diagnosis.collisions;
    const { stdout, exitCode } = await say({ collisions: said === undefined ? [] : [said] }, "status");
    expect(exitCode).toBe(1);
    expect(stdout.split("\n\n")[1]).toBe("1 collision: kubectl macpool collisions -A shows who has the address.\n");
  });

  it("has in JSON why it ends with 1, and the pools in the order of the table", async () => {
    const [, , said] = diagnosis.collisions;
    const { stdout, exitCode } = await say({ findings: FINDINGS, collisions: said ? [said] : [] }, "status", "-ojson");
    const { items, ...problems } = JSON.parse(stdout);
    expect(exitCode).toBe(1);
    expect(items.map(({ name }: PoolView) => name)).toEqual(["lab", "default"]);
    expect(problems).toEqual({ total: 2, problems: FINDINGS, collisions: [said] });
    const full: FindingView = {
      code: "POOL_FULL",
      pool: "lab",
      message: "No address is free.",
      advice: "Add a range.",
    };
    const one = await say({ findings: [...FINDINGS, full] }, "status", "lab", "-ojson");
    expect(one.exitCode).toBe(1);
    expect(JSON.parse(one.stdout)).toMatchObject({ name: "lab", problems: [full] });
  });

  it("says in JSON that the problems are not known", async () => {
    const rest = (path: string) =>
      path === "pools" ? { body: { items: pools, total: 2 } } : problem(403, "FORBIDDEN", "no");
    const { stdout, stderr } = await harness.say({ rest }, "status", "-o", "json");
    expect(JSON.parse(stdout)).toMatchObject({ problems: null, collisions: null });
    expect(stderr).toBe("note: problems are not known: no\n");
  });

  it("says once why the rate of a pool is not known", async () => {
    const reason = "A forecast takes an hour of counting. This replica has counted for 3 min.";
    const young = { rate: { windowSeconds: 180 }, daysToFull: { days: null, atLeast: null, atMost: null, reason } };
    const { stdout } = await say({ pools: pools.map((pool) => ({ ...pool, ...young })) }, "status", "lab");
    expect(stdout).toContain(`  full in       no forecast. ${reason}\n`);
    expect(stdout).toMatch(/ {2}a day +not known yet\n/);
  });

  it("has no problem where nothing is found", async () => {
    const { stdout, exitCode } = await say({}, "status");
    expect({ said: stdout.split("\n\n")[1], exitCode }).toEqual({ said: "No problems.\n", exitCode: 0 });
  });

  it("says of one pool that it has no problem, also where the cluster has others", async () => {
    expect((await say({}, "status", "lab")).stdout).toMatch(/\nNo problems\.\n$/);
    const { stdout, exitCode } = await say({ findings: FINDINGS }, "status", "lab");
    expect(stdout).toMatch(/\nNo problems of this pool\.\n$/);
    expect(exitCode).toBe(0);
  });

  it("names the keys of its JSON in the help", async () => {
    expect((await say({}, "help", "status")).stdout).toMatch(/-o json has them as problems and collisions;/);
  });
});

describe("kubectl macpool doctor", () => {
  it("says which network and which bridge it is about, and what to do", async () => {
    const { stdout, exitCode } = await say({ findings: FINDINGS }, "doctor");
    expect(exitCode).toBe(1);
    expect(stdout).toContain(`2 findings

NETWORK_FAULTY  network lab/blue
  Network lab/blue: no node has its bridge.
  -> br9 is published by none of 3 nodes. Make it on a node.

BRIDGE_FAULTY  bridge br3
  Bridge br3: uplink is down on node-b.
  -> Find the uplink.
`);
  });
});

describe("kubectl macpool version", () => {
  it("is JSON and YAML where it is asked for", async () => {
    expect((await harness.say({}, "version", "-o", "json")).stdout).toBe(`{\n  "version": "${PRODUCT_VERSION}"\n}\n`);
    expect((await harness.say({}, "--version", "-oyaml")).stdout).toBe(`version: ${PRODUCT_VERSION}\n`);
    expect((await harness.say({}, "version")).stdout).toBe(`${PRODUCT_VERSION}\n`);
  });
});
