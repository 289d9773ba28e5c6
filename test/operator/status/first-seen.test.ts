import { expect, it } from "vitest";
import { FirstSeen } from "../../../src/operator/status/first-seen.ts";

it("remembers when it first saw what it has seen in each round since", () => {
  const seen = new FirstSeen();
  expect(seen.sinceMs("a", 1)).toBe(1);
  seen.endRound();
  expect([seen.sinceMs("a", 2), seen.sinceMs("b", 2)]).toEqual([1, 2]);
  seen.endRound();
  expect(seen.sinceMs("b", 3)).toBe(2);
  seen.endRound();
  expect(seen.sinceMs("a", 4)).toBe(4);
});

it("takes what it sees in the first round for what was there before it began", () => {
  const seen = new FirstSeen(5);
  expect(seen.sinceMs("a", 10)).toBe(5);
  seen.endRound();
  expect([seen.sinceMs("a", 20), seen.sinceMs("b", 20)]).toEqual([5, 20]);
});
