import { describe, expect, it } from "vitest";
import { OPERATOR_NAME } from "../../../src/api/names.ts";
import type { Deployment } from "../../../src/kube/client/built-in-kinds.ts";
import { release, releaseObjects } from "../../../src/operator/release.ts";
import {
  accountOf,
  imageOf,
  isAlive,
  mayRun,
  runsThisOperator,
  slimProgram,
} from "../../../src/operator/watch/programs.ts";
import { formerOperator } from "../support/predecessor.ts";

const THEIRS = formerOperator("theirs") as Deployment;
const OURS = releaseObjects(release("registry.test/own:1")).find(({ kind }) => kind === "Deployment") as Deployment;

const withStatus = (replicas: number | undefined, running: number): Deployment =>
  ({ ...THEIRS, spec: { ...THEIRS.spec, replicas }, status: { replicas: running } }) as Deployment;

describe("a Deployment of the operator's name", () => {
  it("is this operator's by what its pods run, not by its name, its labels or its image", () => {
    expect([OURS, THEIRS].map((one) => runsThisOperator(slimProgram(one).spec?.template.spec))).toEqual([true, false]);
    expect(OURS.metadata.name).toBe(THEIRS.metadata.name);
    expect(OURS.spec?.selector).toEqual(THEIRS.spec?.selector);
    expect(accountOf(slimProgram(OURS))).toBe(accountOf(slimProgram(THEIRS)));
  });

  it("is this operator's in a wrapper too", () => {
    const [container] = OURS.spec?.template.spec?.containers ?? [];
    const command = ["/bin/sh", "-c", `exec ${container?.command?.join(" ")}`];
    expect(runsThisOperator({ containers: [{ command: ["/proxy"] }, { command }] })).toBe(true);
    expect(runsThisOperator({})).toBe(false);
  });

  it("is this operator's with the image of its own pod, where the command is left to the image", () => {
    const pod = { containers: [{ name: OPERATOR_NAME, image: "registry.test/own:1" }] };
    expect(runsThisOperator(pod, imageOf(OURS.spec?.template.spec))).toBe(true);
    expect(runsThisOperator(pod, "registry.test/own:2")).toBe(false);
    expect(runsThisOperator({ containers: [{ name: OPERATOR_NAME }] }, imageOf({}))).toBe(false);
    expect(
      runsThisOperator({ containers: [{ name: "proxy", image: "registry.test/own:1" }] }, "registry.test/own:1"),
    ).toBe(false);
  });

  it.each([
    [undefined, 0, true],
    [1, 0, true],
    [0, 1, true],
    [0, 0, false],
  ])("that wants %s pods and has %s is alive: %s", (wanted, running, alive) => {
    expect(isAlive(slimProgram(withStatus(wanted, running)))).toBe(alive);
  });

  it("has pods that run until they have ended", () => {
    const pod = (phase?: string) => ({ metadata: {}, status: { phase } }) as Parameters<typeof mayRun>[0];
    expect(
      [undefined, "Pending", "Running", "Unknown", "Failed", "Succeeded"].map((phase) => mayRun(pod(phase))),
    ).toEqual([true, true, true, true, false, false]);
  });
});
