import { expect, it } from "vitest";
import { FirstSeen } from "../../../src/operator/status/first-seen.ts";

it("remembers when it first saw what it has seen in each round since", () => {
  const seen = new FirstSeen();
  expect(seen.sinceMs("a", 1, "a")).toBe(1);
  seen.endRound();
  expect([seen.sinceMs("a", 2, "a"), seen.sinceMs("b", 2, "b")]).toEqual([1, 2]);
  seen.endRound();
  expect(seen.sinceMs("b", 3, "b")).toBe(2);
  seen.endRound();
  expect(seen.sinceMs("a", 4, "a")).toBe(4);
});

it("takes what a former process reported for what was there before, until it changes anything itself", () => {
  const seen = new FirstSeen({ sinceMs: 5, text: "pod a-1 has no node" });
  const first = [seen.sinceMs("a", 10, " a-1"), seen.sinceMs("b", 10, " b-1"), seen.sinceMs("c", 10, undefined)];
  expect(first).toEqual([5, 10, 10]);
  seen.beginChanges();
  expect(seen.sinceMs("d", 10, " a-1")).toBe(10);
  seen.endRound();
  expect([seen.sinceMs("a", 20, " a-1"), seen.sinceMs("e", 20, " a-1")]).toEqual([5, 20]);
});
