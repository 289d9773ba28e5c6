import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/kube/clock.ts";
import { Fights, lastManager } from "../../../src/operator/convergence/fights.ts";

const MINUTE_MS = 60_000;

function fightsAt(): { fights: Fights; pass: (ms: number) => void } {
  let nowMs = 0;
  const fights = new Fights({ ...systemClock, monotonicMs: () => nowMs });
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { fights, pass };
}

function repair(fights: Fights, times: number, field = "spec.a"): void {
  for (let round = 0; round < times; round++) fights.repaired("object", field, "theirs");
}

describe("a fight over a field", () => {
  it("begins after five repairs, and allows one a minute from then on", () => {
    const { fights, pass } = fightsAt();
    repair(fights, 4);
    expect(fights.mayRepair("object", "spec.a")).toBe(true);
    expect(fights.over("object")).toEqual([]);
    repair(fights, 1);
    expect(fights.mayRepair("object", "spec.a")).toBe(false);
    expect(fights.over("object")).toEqual(["theirs keeps changing spec.a; it is set again once a minute"]);
    pass(MINUTE_MS);
    expect(fights.mayRepair("object", "spec.a")).toBe(true);
    repair(fights, 1);
    expect(fights.mayRepair("object", "spec.a")).toBe(false);
  });

  it("concerns that field of that object only", () => {
    const { fights } = fightsAt();
    repair(fights, 5);
    expect(fights.mayRepair("object", "spec.b")).toBe(true);
    expect(fights.mayRepair("another", "spec.a")).toBe(true);
    expect(fights.over("another")).toEqual([]);
  });

  it("is over when nobody has touched the field for five minutes", () => {
    const { fights, pass } = fightsAt();
    repair(fights, 5);
    pass(5 * MINUTE_MS + 1);
    expect(fights.over("object")).toEqual([]);
    repair(fights, 1);
    expect(fights.mayRepair("object", "spec.a")).toBe(true);
  });
});

describe("an object that the operator deleted", () => {
  it("is missing because of the operator until it is there again", () => {
    const { fights } = fightsAt();
    expect(fights.isMissingByUs("object")).toBe(false);
    fights.deleted("object");
    expect([fights.isMissingByUs("object"), fights.isMissingByUs("another")]).toEqual([true, false]);
    fights.applied("object");
    expect(fights.isMissingByUs("object")).toBe(false);
  });

  it("has no history once nobody wants it any more", () => {
    const { fights } = fightsAt();
    repair(fights, 5);
    repair(fights, 5, "spec.b");
    fights.forget("object");
    expect(fights.over("object")).toEqual([]);
    expect(fights.mayRepair("object", "spec.a")).toBe(true);
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
