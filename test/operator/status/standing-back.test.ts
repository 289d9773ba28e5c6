import { describe, expect, it } from "vitest";
import type { NetworkAddonsConfigStatus } from "../../../src/api/network-addons-config.ts";
import type { Outcome } from "../../../src/operator/status/outcome.ts";
import { announcements, isSameStatus, nextStatus } from "../../../src/operator/status/status.ts";

const T0 = Date.parse("2026-01-01T00:00:00Z");
const AVAILABLE: Outcome = {
  kind: "reconciled",
  components: [],
  removalFailures: [],
  distributions: [],
  workloads: [],
};
const forWhom = (message: string): Outcome => ({ kind: "standing-back", message });

function next(outcome: Outcome, previous?: NetworkAddonsConfigStatus, generation = 1) {
  return nextStatus({ outcome, previous, generation, version: "1.2.3", nowMs: T0 });
}

function brief(status: NetworkAddonsConfigStatus): Record<string, (string | undefined)[]> {
  return Object.fromEntries((status.conditions ?? []).map(({ type, ...one }) => [type, [one.status, one.reason]]));
}

/** As the predecessor leaves it: it knows no generation. */
const THEIRS: NetworkAddonsConfigStatus = {
  operatorVersion: "0.102.0",
  conditions: ["Available", "Progressing", "Degraded"].map((type) => ({
    type,
    status: type === "Available" ? "True" : "False",
  })),
};

describe("the status while another operator is in charge", () => {
  it("has all three conditions where nobody reports", () => {
    const status = next(forWhom("them"));
    expect(brief(status)).toEqual({
      Available: ["False", "AnotherOperator"],
      Progressing: ["False", "AnotherOperator"],
      Degraded: ["True", "AnotherOperator"],
      StandingBack: ["True", "AnotherOperator"],
    });
    expect(status).not.toHaveProperty("observedGeneration");
  });

  it("adds one condition to what the other one says, and nothing else", () => {
    const status = next(forWhom("them"), THEIRS);
    expect(status).toEqual({ ...THEIRS, conditions: [...(THEIRS.conditions ?? []), status.conditions?.at(-1)] });
    expect(status.conditions?.at(-1)).toMatchObject({ type: "StandingBack", status: "True", message: "them" });
    expect(isSameStatus(status, next(forWhom("them"), status))).toBe(true);
  });

  it("keeps Available of what it brought about itself", () => {
    const status = next(forWhom("them"), next(AVAILABLE), 2);
    expect(brief(status)).toMatchObject({ Available: ["True", undefined], Degraded: ["True", "AnotherOperator"] });
    expect(status).toMatchObject({ observedGeneration: 1, observedVersion: "1.2.3" });
    expect(isSameStatus(status, next(forWhom("them"), status, 2))).toBe(true);
  });

  it("is announced once for each other operator, and so is its end", () => {
    const reasonsOf = (...args: Parameters<typeof announcements>) => announcements(...args).map(({ reason }) => reason);
    const status = next(forWhom("them"), next(AVAILABLE));
    expect(reasonsOf(next(AVAILABLE), status)).toEqual(["StandingBack"]);
    expect(reasonsOf(status, next(forWhom("them"), status))).toEqual([]);
    expect(reasonsOf(status, next(forWhom("others"), status))).toEqual(["StandingBack"]);
    expect(reasonsOf(status, next(AVAILABLE, status))).toEqual(["TakingOver"]);
    expect(brief(next(AVAILABLE, status))).not.toHaveProperty("StandingBack");
  });
});
