import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Mac } from "../../../src/api/mac.ts";
import { RESERVATION_MS } from "../../../src/mac-pool/claims/limits.ts";
import type { ClaimFacts, PoolSettings } from "../../../src/mac-pool/pools/pool.ts";
import { PoolIndex } from "../../../src/mac-pool/pools/pool-index.ts";
import { poolSettings } from "../pool-settings.ts";

const FIRST = 0x02_00_00_00_01_00;

function settings(name: string, from: number, to: number, more: Partial<PoolSettings> = {}): PoolSettings {
  return poolSettings(FIRST + from, to - from + 1, { name, ...more });
}

function facts(more: Partial<ClaimFacts> = {}): ClaimFacts {
  return { isQuarantined: false, pool: "default", ownerCount: 1, namespaces: [], untilMs: 0, ...more };
}

const claimFacts = fc.record({
  isQuarantined: fc.boolean(),
  pool: fc.constantFrom("default", "other", undefined),
  ownerCount: fc.integer({ min: 0, max: 3 }),
  namespaces: fc.uniqueArray(fc.constantFrom("a", "b"), { maxLength: 2 }),
  untilMs: fc.nat(1000),
});

const step = fc.oneof(
  fc.record({ kind: fc.constant("set" as const), offset: fc.nat(15), claim: claimFacts }),
  fc.record({ kind: fc.constant("delete" as const), offset: fc.nat(15) }),
  fc.record({ kind: fc.constant("pend" as const), offset: fc.nat(15) }),
  fc.record({ kind: fc.constant("list" as const), offset: fc.nat(15) }),
  fc.record({
    kind: fc.constant("node" as const),
    node: fc.constantFrom("x", "y"),
    offsets: fc.uniqueArray(fc.nat(15), { maxLength: 3 }),
  }),
  fc.record({ kind: fc.constant("range" as const), from: fc.nat(10), length: fc.nat(8) }),
);

describe("pools and claims as one replica knows them", () => {
  it("wait for an object as long as the pool that asks for the longest time, and never shorter than usual", () => {
    const index = new PoolIndex();
    expect(index.pendingMs).toBe(120_000);
    index.setPool(settings("default", 0, 7));
    index.setPool(settings("slow", 0, 7, { pendingMs: 300_000 }));
    expect(index.pendingMs).toBe(300_000);
    index.deletePool("slow");
    expect(index.pendingMs).toBe(120_000);
  });

  it("count what a full scan of the claims would count, also after ranges change", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const index = new PoolIndex();
        const claims = new Map<number, ClaimFacts>();
        const nodes = new Map<string, readonly number[]>();
        const pending = new Set<number>();
        let [from, to] = [0, 7];
        index.setPool(settings("default", from, to));
        for (const change of steps) {
          if (change.kind === "set") {
            index.setClaim((FIRST + change.offset) as Mac, change.claim);
            claims.set(change.offset, change.claim);
          } else if (change.kind === "pend") {
            if (!claims.has(change.offset)) continue;
            index.pending.set((FIRST + change.offset) as Mac, ["a"], 0, true);
            pending.add(change.offset);
          } else if (change.kind === "list") {
            index.pending.list((FIRST + change.offset) as Mac);
            pending.delete(change.offset);
          } else if (change.kind === "delete") {
            index.deleteClaim((FIRST + change.offset) as Mac);
            claims.delete(change.offset);
            pending.delete(change.offset);
          } else if (change.kind === "node") {
            index.setNode(change.node, new Map(change.offsets.map((offset) => [(FIRST + offset) as Mac, "eth0"])));
            nodes.set(change.node, change.offsets);
          } else {
            [from, to] = [change.from, change.from + change.length];
            index.setPool(settings("default", from, to));
          }
          const inRange = [...claims].filter(([offset]) => offset >= from && offset <= to).map(([, claim]) => claim);
          const outside = [...claims].filter(
            ([offset, claim]) => (offset < from || offset > to) && claim.pool !== "other" && !claim.isQuarantined,
          );
          const hosts = new Set([...nodes.values()].flat());
          const kept = [...hosts].filter((offset) => offset >= from && offset <= to && !claims.has(offset));
          const conflicts = [...inRange, ...outside.map(([, claim]) => claim)].filter((claim) => claim.ownerCount > 1);
          expect(index.pool("default")?.counts).toEqual({
            capacity: to - from + 1,
            used: inRange.length,
            free: to - from + 1 - inRange.length - kept.length,
            pending: [...pending].filter((offset) => offset >= from && offset <= to).length,
            quarantined: inRange.filter((claim) => claim.isQuarantined).length,
            hostAddresses: kept.length,
            outOfRange: outside.length,
            conflicts: conflicts.length,
          });
          const pool = index.pool("default");
          const drawn = pool && index.draw(pool, 0.5, 0);
          expect(drawn !== undefined && hosts.has(drawn - FIRST)).toBe(false);
          for (const namespace of ["a", "b"]) {
            const expected = [...claims.values()].filter((claim) => claim.namespaces.includes(namespace)).length;
            expect(index.ownedBy(namespace)).toBe(expected);
          }
        }
      }),
    );
  });

  it("draw each free address and nothing else, until the pool is full", () => {
    const index = new PoolIndex();
    index.setPool(settings("default", 0, 9));
    const pool = index.pool("default");
    if (pool === undefined) throw new Error("no pool");
    const drawn = new Set<number>();
    for (let i = 0; i < 10; i++) {
      const mac = index.draw(pool, 0.999 - i / 11, 0);
      if (mac === undefined) throw new Error("nothing drawn");
      drawn.add(mac);
      index.setClaim(mac, facts());
    }
    expect(drawn.size).toBe(10);
    expect(index.draw(pool, 0, 0)).toBeUndefined();
  });

  it("offer an address of a node to nobody until no node has it any more", () => {
    const index = new PoolIndex();
    index.setPool(settings("default", 0, 0));
    const pool = index.pool("default");
    if (pool === undefined) throw new Error("no pool");
    const only = FIRST as Mac;
    index.setNode("x", new Map([[only, "eth0"]]));
    index.setNode("y", new Map([[only, "bond0"]]));
    expect(index.hosts.at(only)).toEqual([
      { node: "x", interface: "eth0" },
      { node: "y", interface: "bond0" },
    ]);
    index.setNode("x", new Map());
    expect([index.draw(pool, 0, 0), index.near(pool, 0, 0)]).toEqual([undefined, undefined]);
    index.reserve(only, 0);
    expect(index.draw(pool, 0, RESERVATION_MS)).toBeUndefined();
    index.setNode("y", new Map());
    expect(index.draw(pool, 0, RESERVATION_MS)).toBe(only);
  });

  it("does not offer a reserved address, until its reservation is over or its claim has come and gone", () => {
    const index = new PoolIndex();
    index.setPool(settings("default", 0, 0));
    const pool = index.pool("default");
    if (pool === undefined) throw new Error("no pool");
    const only = FIRST as Mac;
    index.reserve(only, 1_000);
    expect(index.draw(pool, 0, 1_001)).toBeUndefined();
    expect(index.draw(pool, 0, 1_000 + RESERVATION_MS)).toBe(only);
    index.reserve(only, 50_000);
    index.setClaim(only, facts());
    expect(index.draw(pool, 0, 50_001)).toBeUndefined();
    index.deleteClaim(only);
    expect(index.draw(pool, 0, 50_002)).toBe(only);
  });

  it("offer the address that has rested longest, to one request only", () => {
    const index = new PoolIndex();
    index.setPool(settings("default", 0, 2));
    const pool = index.pool("default");
    index.setClaim((FIRST + 1) as Mac, facts({ isQuarantined: true, untilMs: 300 }));
    index.setClaim((FIRST + 0) as Mac, facts({ isQuarantined: true, untilMs: 200 }));
    index.setClaim((FIRST + 2) as Mac, facts());
    expect(pool?.takeOldestQuarantined()).toBe(FIRST);
    expect(pool?.takeOldestQuarantined()).toBe(FIRST + 1);
    expect(pool?.takeOldestQuarantined()).toBeUndefined();
    expect(pool?.counts.quarantined).toBe(2);
  });

  it("serve a namespace by the oldest pool that selects it, else by the default one", () => {
    const index = new PoolIndex();
    index.setPool(settings("default", 0, 9));
    index.setPool(settings("young", 10, 19, { namespaceSelector: { matchLabels: { tenant: "a" } }, createdAtMs: 20 }));
    index.setPool(settings("old", 20, 29, { namespaceSelector: { matchLabels: { tenant: "a" } }, createdAtMs: 10 }));
    index.setPool(settings("nobody", 30, 39, { createdAtMs: 1 }));
    expect(index.poolFor({ tenant: "a" })?.name).toBe("old");
    expect(index.poolFor({ tenant: "b" })?.name).toBe("default");
    index.deletePool("default");
    expect(index.poolFor({})).toBeUndefined();
  });
});
