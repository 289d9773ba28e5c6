import { describe, expect, test } from "vitest";
import { heldBy, mayHold, observe, released } from "../../../src/kube/leader/lease-rules.ts";

const NOW = new Date("2026-01-02T03:04:05.678Z");
const OTHERS = {
  holderIdentity: "b",
  leaseDurationSeconds: 15,
  renewTime: "t1",
  acquireTime: "t0",
  leaseTransitions: 4,
};

describe("who may hold a lease", () => {
  const may = (spec: object | undefined, sinceMs: number, nowMs: number) =>
    mayHold(spec, { record: "", sinceMs }, "a", 15_000, nowMs);

  test("anybody, if it does not exist, is free, or is already ours", () => {
    expect(may(undefined, 0, 0)).toBe(true);
    expect(may({ holderIdentity: "" }, 0, 0)).toBe(true);
    expect(may({ holderIdentity: null }, 0, 0)).toBe(true);
    expect(may({ holderIdentity: "a" }, 0, 0)).toBe(true);
  });

  test("another one only after we have watched the holder being silent for the whole duration", () => {
    expect(may(OTHERS, 1_000, 15_999)).toBe(false);
    expect(may(OTHERS, 1_000, 16_000)).toBe(true);
  });

  test("and for as long as the holder says, if that is longer", () => {
    const longer = { ...OTHERS, leaseDurationSeconds: 60 };
    expect(may(longer, 1_000, 60_999)).toBe(false);
    expect(may(longer, 1_000, 61_000)).toBe(true);
    expect(may({ ...OTHERS, leaseDurationSeconds: 5 }, 1_000, 15_999)).toBe(false);
    expect(may({ ...OTHERS, leaseDurationSeconds: null }, 1_000, 16_000)).toBe(true);
  });

  test("a holder that changes what it says is not silent", () => {
    const first = observe(undefined, OTHERS, 1_000);
    expect(observe(first, { ...OTHERS, leaseDurationSeconds: 60 }, 9_000).sinceMs).toBe(9_000);
  });

  test("times in the record are never compared with our clock, only for being different", () => {
    const first = observe(undefined, { ...OTHERS, renewTime: "1970-01-01T00:00:00.000000Z" }, 1_000);
    const same = observe(first, { ...OTHERS, renewTime: "1970-01-01T00:00:00.000000Z" }, 9_000);
    expect(same.sinceMs).toBe(1_000);
    expect(observe(same, { ...OTHERS, renewTime: "1970-01-01T00:00:01.000000Z" }, 9_000).sinceMs).toBe(9_000);
  });
});

describe("what is written", () => {
  test("a renewal keeps acquireTime and transitions", () => {
    expect(heldBy({ ...OTHERS, holderIdentity: "a" }, "a", 15_000, NOW)).toEqual({
      holderIdentity: "a",
      leaseDurationSeconds: 15,
      acquireTime: "t0",
      renewTime: "2026-01-02T03:04:05.678000Z",
      leaseTransitions: 4,
    });
  });

  test("a take-over counts as a transition, the first holder does not", () => {
    expect(heldBy(OTHERS, "a", 15_000, NOW)).toMatchObject({
      leaseTransitions: 5,
      acquireTime: "2026-01-02T03:04:05.678000Z",
    });
    expect(heldBy(undefined, "a", 400, NOW)).toMatchObject({ leaseTransitions: 0, leaseDurationSeconds: 1 });
  });

  test("a released lease is free for anybody at once", () => {
    const spec = released({ ...OTHERS, holderIdentity: "a" }, NOW);
    expect(spec).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 4 });
    expect(mayHold(spec, { record: "", sinceMs: 0 }, "c", 15_000, 0)).toBe(true);
  });
});
