import { describe, expect, it } from "vitest";
import type { Lease } from "../../../src/kube/client/built-in-kinds.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { LeaseWatch } from "../../../src/operator/watch/lease-watch.ts";

const DURATION_MS = 15_000;

function watchAt(): { watch: LeaseWatch; pass: (ms: number) => void } {
  let nowMs = 0;
  const watch = new LeaseWatch({ ...systemClock, monotonicMs: () => nowMs });
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { watch, pass };
}

function lease(holderIdentity: string, renewal: number): Lease {
  const renewTime = `2020-01-01T00:00:${String(renewal).padStart(2, "0")}.000000Z`;
  return {
    metadata: { name: "lease", namespace: "theirs" },
    spec: { holderIdentity, renewTime, leaseDurationSeconds: 15 },
  };
}

describe("a Lease of another program", () => {
  it("counts from when it was seen to change, until its duration is over", () => {
    const { watch, pass } = watchAt();
    watch.see(lease("a", 1));
    pass(2_000);
    watch.see(lease("a", 2));
    expect(watch.leftMs(lease("a", 2), false)).toBe(DURATION_MS);
    pass(DURATION_MS - 1);
    expect(watch.leftMs(lease("a", 2), false)).toBe(1);
    pass(1);
    expect(watch.leftMs(lease("a", 2), false)).toBeUndefined();
  });

  it("may have been left behind when it is seen first: whoever is in charge does not wait for it", () => {
    const { watch } = watchAt();
    watch.see(lease("a", 1));
    expect(watch.leftMs(lease("a", 1), true)).toBe(DURATION_MS);
    expect(watch.leftMs(lease("a", 1), false)).toBeUndefined();
  });

  it("counts no more once it is released or forgotten", () => {
    const { watch } = watchAt();
    watch.see(lease("a", 1));
    watch.see(lease("", 2));
    expect(watch.leftMs(lease("", 2), true)).toBeUndefined();
    watch.see(lease("b", 3));
    watch.forget(lease("b", 3));
    expect(watch.leftMs(lease("b", 3), true)).toBeUndefined();
  });

  it("is news when it appears, proves to be alive, changes hands or comes back, and not at each renewal", () => {
    const { watch, pass } = watchAt();
    const news = (one: Lease, afterMs = 2_000): boolean => {
      pass(afterMs);
      return watch.see(one);
    };
    expect(news(lease("a", 1))).toBe(true);
    expect(news(lease("a", 1))).toBe(false);
    expect(news(lease("a", 2))).toBe(true);
    expect(news(lease("a", 3))).toBe(false);
    expect(news(lease("b", 4))).toBe(true);
    expect(news(lease("b", 5), DURATION_MS)).toBe(true);
    expect(news(lease("b", 6))).toBe(false);
  });
});
