import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CollisionView, FindingView, PoolView } from "../../src/mac-pool/inspection/rest/views.ts";
import { pools } from "./support/answers.ts";
import { CliHarness } from "./support/cli-harness.ts";
import * as diagnosis from "./support/diagnosis-answers.ts";

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
      "Of networks: NETWORK_FAULTY, BRIDGE_FAULTY: kubectl macpool networks shows where.\n" +
        "2 problems: kubectl macpool doctor says what to do about each.\n",
    );
  });

  it("names collisions, also those that doctor does not count, and ends with 1", async () => {
    const [, , said] = diagnosis.collisions;
    const { stdout, exitCode } = await say({ collisions: said === undefined ? [] : [said] }, "status");
    expect(exitCode).toBe(1);
    expect(stdout.split("\n\n")[1]).toBe("1 collision: kubectl macpool collisions -A shows who has the address.\n");
  });

  it("has no problem where nothing is found", async () => {
    const { stdout, exitCode } = await say({}, "status");
    expect({ said: stdout.split("\n\n")[1], exitCode }).toEqual({ said: "No problems.\n", exitCode: 0 });
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
