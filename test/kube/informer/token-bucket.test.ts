import { expect, test } from "vitest";
import { TokenBucket } from "../../../src/kube/informer/token-bucket.ts";

test("a burst goes at once, what is more comes one after the other at the given rate", () => {
  const bucket = new TokenBucket({ perSecond: 10, burst: 3 });
  expect([1, 2, 3, 4, 5].map(() => bucket.takeMs(0))).toEqual([0, 0, 0, 100, 200]);
});

test("what was not used comes back with time, up to the burst", () => {
  const bucket = new TokenBucket({ perSecond: 10, burst: 2 });
  bucket.takeMs(0);
  bucket.takeMs(0);
  expect(bucket.takeMs(100)).toBe(0);
  expect(bucket.takeMs(100)).toBe(100);
  expect([1, 2, 3].map(() => bucket.takeMs(60_000))).toEqual([0, 0, 100]);
});
