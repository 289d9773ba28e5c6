import { describe, expect, it } from "vitest";
import type { ApplyResult } from "../../../src/operator/apply/applier.ts";
import { ApplyRuns } from "../../../src/operator/apply/apply-runs.ts";
import type { Inventory } from "../../../src/operator/apply/inventory.ts";
import { ManualClock, settle } from "../../kube/support/manual-clock.ts";

const DONE: ApplyResult = { settled: new Map([["key", "new"]]), failures: [], otherWriters: [], waiting: [] };
const ENTRY = { apiVersion: "v1", kind: "ConfigMap", name: "one", component: "ovs", fingerprint: "old" };
const INVENTORY: Inventory = new Map([["key", ENTRY]]);
const LONG_MS = 5_000;

/** Work that ends when the test says so, or when it is stopped. */
function work() {
  const { promise, resolve, reject } = Promise.withResolvers<ApplyResult>();
  let starts = 0;
  const start = (signal: AbortSignal): Promise<ApplyResult> => {
    starts += 1;
    signal.addEventListener("abort", () => reject(signal.reason));
    return promise;
  };
  return { start, resolve, starts: () => starts };
}

function runs() {
  const clock = new ManualClock();
  const ends: string[] = [];
  const made = new ApplyRuns({ clock, onEnd: () => ends.push("end") });
  const apply = (content: string, start: (signal: AbortSignal) => Promise<ApplyResult>) =>
    made.apply("ovs", content, start, new AbortController().signal);
  return { clock, ends, runs: made, apply };
}

describe("an apply", () => {
  it("that ends in time gives its result", async () => {
    const { clock, ends, apply } = runs();
    expect(await apply("a", async () => DONE)).toBe(DONE);
    expect(ends).toEqual([]);
    expect(clock.pending).toBe(0);
    await expect(apply("a", () => Promise.reject(new Error("gone")))).rejects.toThrow("gone");
  });

  it("that takes long is reported as going on, is not started twice, and counts when it has ended", async () => {
    const { clock, ends, runs: made, apply } = runs();
    const { start, resolve, starts } = work();
    const first = apply("a", start);
    await clock.advance(LONG_MS);
    const waiting = [expect.stringMatching(/^ovs is still being applied/)];
    expect(await first).toEqual({ settled: new Map(), failures: [], otherWriters: [], waiting });
    await made.keep(new Map([["ovs", "a"]]));
    expect(await apply("a", start)).toMatchObject({ waiting });
    expect(starts()).toBe(1);
    resolve(DONE);
    await settle();
    expect(ends).toEqual(["end"]);
    expect(made.withSettled(INVENTORY).get("key")?.fingerprint).toBe("new");
    expect(await apply("a", async () => ({ ...DONE, settled: new Map() }))).toMatchObject({ waiting: [] });
    expect(made.withSettled(INVENTORY).get("key")?.fingerprint).toBe("old");
  });

  it("that failed before and takes long again has failed as long as nothing else is known", async () => {
    const { clock, apply } = runs();
    const failures = ["ConfigMap one could not be applied"];
    await apply("a", async () => ({ ...DONE, failures }));
    const again = apply("a", work().start);
    await clock.advance(LONG_MS);
    expect(await again).toMatchObject({ failures });
  });

  it("is ended when something else is wanted, or nothing", async () => {
    const { clock, ends, runs: made, apply } = runs();
    for (const wanted of [new Map([["ovs", "b"]]), new Map<string, string>()]) {
      const first = apply("a", work().start);
      await clock.advance(LONG_MS);
      await first;
      await made.keep(wanted);
      expect(await apply("b", async () => DONE)).toBe(DONE);
    }
    expect(ends).toHaveLength(2);
  });
});
