import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MACPool } from "../../../src/api/mac-pool.ts";
import { ExpiryQueue } from "../../../src/mac-pool/pools/expiry-queue.ts";
import { selectorMatches } from "../../../src/mac-pool/pools/label-selector.ts";
import { Pool } from "../../../src/mac-pool/pools/pool.ts";
import { readPool } from "../../../src/mac-pool/pools/pool-settings.ts";
import { poolStatus } from "../../../src/mac-pool/pools/pool-status.ts";

const NOW = "2026-01-01T00:00:00.000Z";

function macPool(spec: Partial<MACPool["spec"]> = {}, status?: MACPool["status"]): MACPool {
  const ranges = [{ start: "02:00:00:00:01:00", end: "02-00-00-00-01-0F" }];
  return {
    metadata: { name: "default", generation: 3 },
    spec: { ranges, ...spec },
    ...(status === undefined ? {} : { status }),
  };
}

function statusOf(object: MACPool, overlapping: readonly string[] = []) {
  const { settings, problem } = readPool(object, undefined);
  const pool = new Pool(settings);
  return poolStatus({
    object,
    pool,
    counts: { ...pool.counts, hostConflicts: 0 },
    problem,
    overlapping,
    adoption: undefined,
    now: NOW,
  });
}

describe("a MACPool", () => {
  it("is read with its exclusions, and with the usual policy where it says nothing", () => {
    const { settings, problem } = readPool(
      macPool({ exclusions: [{ start: "020000000104", end: "02:00:00:00:01:07" }] }),
      undefined,
    );
    expect(problem).toBeUndefined();
    expect(settings).toMatchObject({ conflictPolicy: "Deny", quarantineMs: 60_000 });
    expect(settings.segments.toString()).toBe(
      "02:00:00:00:01:00-02:00:00:00:01:03, 02:00:00:00:01:08-02:00:00:00:01:0f",
    );
  });

  it("keeps its last good ranges while the spec is wrong, also across a restart, and says so", () => {
    const good = readPool(macPool(), undefined).settings.segments;
    const broken = { ranges: [{ start: "02:00:00:00:00:00", end: "03:00:00:00:00:00" }] };
    expect(readPool(macPool(broken), good).settings.segments.equals(good)).toBe(true);
    const restarted = macPool(broken, { ranges: ["02:00:00:00:01:00-02:00:00:00:01:0f"] });
    expect(readPool(restarted, undefined).settings.segments.equals(good)).toBe(true);
    const condition = statusOf(restarted)?.conditions?.find(({ type }) => type === "Valid");
    expect(condition).toMatchObject({ status: "False", reason: "InvalidRange" });
    expect(condition?.message).toContain("spec.ranges[0]: failed to set end: invalid mac address. Multicast");
    expect(condition?.message).toContain("Ranges in force: 02:00:00:00:01:00-02:00:00:00:01:0f.");
  });

  it("shows its ranges in one line, cut after some", () => {
    const range = (octet: number) => ({ start: `02:00:00:00:0${octet}:00`, end: `02:00:00:00:0${octet}:07` });
    const shown = (octet: number): string => `02:00:00:00:0${octet}:00-02:00:00:00:0${octet}:07`;
    const lineOf = (count: number): string | undefined =>
      statusOf(macPool({ ranges: Array.from({ length: count }, (_, i) => range(i + 1)) }))?.range;
    expect(lineOf(1)).toBe(shown(1));
    expect(lineOf(3)).toBe([1, 2, 3].map(shown).join(", "));
    expect(lineOf(5)).toBe(`${[1, 2, 3].map(shown).join(", ")} +2`);
    expect(lineOf(0)).toBe("-");
  });

  it("says what its ranges hold and it never gives out", () => {
    const validOf = (spec: Partial<MACPool["spec"]>) =>
      statusOf(macPool(spec))?.conditions?.find(({ type }) => type === "Valid");
    const all = validOf({ ranges: [{ start: "00:00:00:00:00:01", end: "FE:A8:11:22:33:44" }] });
    expect(all).toMatchObject({
      status: "True",
      message:
        "The pool skips 139,637,976,727,552 multicast addresses of its ranges, which no interface can have. " +
        "The pool skips 02:00:00:00:00:00, which KubeVirt gives to the bridge in the pod of a VM.",
    });
    expect(validOf({})).not.toHaveProperty("message");
  });

  it("with nothing but the address that KubeVirt reserves says that it has none to give out", () => {
    const only = "02:00:00:00:00:00";
    const status = statusOf(macPool({ ranges: [{ start: only, end: only }] }));
    expect(status).toMatchObject({ capacity: 0, free: 0, ranges: [] });
    const full = status?.conditions?.find(({ type }) => type === "Full");
    expect(full).toMatchObject({ status: "True", message: expect.stringContaining(`or they hold only ${only}`) });
    expect(full?.message).not.toContain("none of the 0 addresses");
  });

  it("gives out nothing when it never had a good range", () => {
    const { settings, problem } = readPool(macPool({ ranges: [] }), undefined);
    expect(settings.segments.size).toBe(0);
    expect(problem).toContain("spec.ranges is empty");
  });

  it("has a status that is written only when it changes, with conditions that keep their time", () => {
    const first = statusOf(macPool());
    expect(first).toMatchObject({
      observedGeneration: 3,
      capacity: 16,
      used: 0,
      free: 16,
      ranges: ["02:00:00:00:01:00-02:00:00:00:01:0f"],
    });
    if (first === undefined) return;
    expect(statusOf(macPool({}, first))).toBeUndefined();
    const old = "2025-01-01T00:00:00.000Z";
    const conditions = first.conditions?.map((condition) => ({ ...condition, lastTransitionTime: old })) ?? [];
    const next = statusOf(macPool({}, { ...first, conditions }), ["tenant"]);
    expect(next?.conditions).toMatchObject([
      { type: "Valid", lastTransitionTime: old },
      { type: "Full", lastTransitionTime: old },
      { type: "Overlapping", status: "True", lastTransitionTime: NOW, message: expect.stringContaining("tenant") },
    ]);
  });
});

describe("a namespace selector", () => {
  it("matches as Kubernetes does", () => {
    const labels = { tenant: "a", tier: "gold" };
    const expression = (key: string, operator: string, ...values: string[]) => ({
      matchExpressions: [{ key, operator, values }],
    });
    expect(selectorMatches({}, labels)).toBe(true);
    expect(selectorMatches({ matchLabels: { tenant: "a" } }, labels)).toBe(true);
    expect(selectorMatches({ matchLabels: { tenant: "a", none: "x" } }, labels)).toBe(false);
    expect(selectorMatches(expression("tier", "In", "gold", "silver"), labels)).toBe(true);
    expect(selectorMatches(expression("tier", "NotIn", "gold"), labels)).toBe(false);
    expect(selectorMatches(expression("none", "NotIn", "gold"), labels)).toBe(true);
    expect(selectorMatches(expression("none", "Exists"), labels)).toBe(false);
    expect(selectorMatches(expression("none", "DoesNotExist"), labels)).toBe(true);
    expect(selectorMatches(expression("constructor", "Exists"), labels)).toBe(false);
    expect(selectorMatches(expression("tier", "Gt", "1"), labels)).toBe(false);
  });
});

describe("the order of resting addresses", () => {
  it("is that of their times, whatever was added, moved and taken out", () => {
    const change = fc.record({ key: fc.nat(12), at: fc.option(fc.nat(50), { nil: undefined }) });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 80 }), (changes) => {
        const order = new ExpiryQueue<number>();
        const naive = new Map<number, number>();
        for (const { key, at } of changes) {
          if (at === undefined) {
            order.delete(key);
            naive.delete(key);
          } else {
            order.set(key, at);
            naive.set(key, at);
          }
          expect(order.size).toBe(naive.size);
          const oldest = order.oldest();
          if (naive.size === 0) expect(oldest).toBeUndefined();
          else expect(naive.get(oldest ?? -1)).toBe(Math.min(...naive.values()));
        }
      }),
    );
  });
});
