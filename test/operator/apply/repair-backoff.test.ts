import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/kube/clock.ts";
import { lastManager, RepairBackoff } from "../../../src/operator/apply/repair-backoff.ts";

const MINUTE_MS = 60_000;

function backoffAt(): { backoff: RepairBackoff; pass: (ms: number) => void } {
  let nowMs = 0;
  const backoff = new RepairBackoff({ ...systemClock, monotonicMs: () => nowMs });
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { backoff, pass };
}

function repair(backoff: RepairBackoff, times: number, field = "spec.a"): void {
  for (let round = 0; round < times; round++) backoff.repaired("object", field, "theirs");
}

describe("repairs of a field that somebody else writes", () => {
  it("are allowed five times, and from then on once a minute, and their other writer is reported", () => {
    const { backoff, pass } = backoffAt();
    repair(backoff, 4);
    expect(backoff.mayRepair("object", "spec.a")).toBe(true);
    expect(backoff.otherWriters("object")).toEqual([]);
    repair(backoff, 1);
    expect(backoff.mayRepair("object", "spec.a")).toBe(false);
    expect(backoff.otherWriters("object")).toEqual(["theirs keeps changing spec.a; it is set again once a minute"]);
    pass(MINUTE_MS);
    expect(backoff.mayRepair("object", "spec.a")).toBe(true);
    repair(backoff, 1);
    expect(backoff.mayRepair("object", "spec.a")).toBe(false);
  });

  it("count for that field of that object only", () => {
    const { backoff } = backoffAt();
    repair(backoff, 5);
    expect(backoff.mayRepair("object", "spec.b")).toBe(true);
    expect(backoff.mayRepair("another", "spec.a")).toBe(true);
    expect(backoff.otherWriters("another")).toEqual([]);
  });

  it("count anew when nobody has touched the field for five minutes", () => {
    const { backoff, pass } = backoffAt();
    repair(backoff, 5);
    pass(5 * MINUTE_MS + 1);
    expect(backoff.otherWriters("object")).toEqual([]);
    repair(backoff, 1);
    expect(backoff.mayRepair("object", "spec.a")).toBe(true);
  });
});

describe("an object that the operator deleted", () => {
  it("is missing because of the operator until it is there again", () => {
    const { backoff } = backoffAt();
    expect(backoff.isMissingByUs("object")).toBe(false);
    backoff.deleted("object");
    expect([backoff.isMissingByUs("object"), backoff.isMissingByUs("another")]).toEqual([true, false]);
    backoff.applied("object");
    expect(backoff.isMissingByUs("object")).toBe(false);
  });

  it("has no history once nobody wants it any more", () => {
    const { backoff } = backoffAt();
    repair(backoff, 5);
    repair(backoff, 5, "spec.b");
    backoff.forget("object");
    expect(backoff.otherWriters("object")).toEqual([]);
    expect(backoff.mayRepair("object", "spec.a")).toBe(true);
  });
});

describe("the last other writer", () => {
  const written = (manager: string, time: string, subresource?: string) => ({ manager, time, subresource });
  const at = (managedFields: readonly object[]) =>
    lastManager({ metadata: { managedFields } }, "spec.nodeSelector.zone", "operator");

  it("is the one who wrote last, but neither the operator nor who wrote the status", () => {
    const managedFields = [
      written("kubectl-edit", "2026-01-01T00:00:00Z"),
      written("kubectl-patch", "2026-01-02T00:00:00Z"),
      written("kube-controller-manager", "2026-01-03T00:00:00Z", "status"),
      written("operator", "2026-01-04T00:00:00Z"),
    ];
    expect(at(managedFields)).toBe("kubectl-patch");
    expect(at([])).toBeUndefined();
  });

  it("is one who wrote that field, or what it is part of, where that is known", () => {
    const time = "2026-01-01T00:00:00Z";
    const wrote = (manager: string, fields: object) => ({ manager, time, fieldsV1: { "f:spec": fields } });
    const replicas = wrote("kubectl-scale", { "f:replicas": {} });
    const region = wrote("kubectl-label", { "f:nodeSelector": { "f:region": {} } });
    expect(at([replicas, region, wrote("kubectl-edit", { "f:nodeSelector": { "f:zone": {} } })])).toBe("kubectl-edit");
    expect(at([replicas, wrote("kubectl-edit", { "f:nodeSelector": {} })])).toBe("kubectl-edit");
  });
});
