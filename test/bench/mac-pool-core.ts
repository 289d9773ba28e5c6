import type { Mac } from "../../src/api/mac.ts";
import { parseMac } from "../../src/api/mac.ts";
import type { ClaimFacts } from "../../src/mac-pool/pools/pool.ts";
import { PoolIndex } from "../../src/mac-pool/pools/pool-index.ts";
import { Segments } from "../../src/mac-pool/pools/segments.ts";

const SIZE = 1_000_000;
const LEFT_FREE = 100;
const ROUNDS = 2_000;

const BOUND: ClaimFacts = { isQuarantined: false, pool: "default", ownerCount: 1, namespaces: [], untilMs: 0 };

/** Milliseconds of one operation on a pool of a million addresses. */
export function measureCore(): { readonly commit: number; readonly pick: number; readonly full: number } {
  const start = parseMac("020000000000") ?? (0 as Mac);
  const index = new PoolIndex();
  index.setPool({
    name: "default",
    segments: new Segments([{ start, end: (start + SIZE - 1) as Mac }]),
    namespaceSelector: undefined,
    conflictPolicy: "Deny",
    quarantineMs: 0,
    pendingMs: 120_000,
    createdAtMs: 0,
  });
  const mac = (number: number): Mac => (start + number) as Mac;
  for (let i = 0; i < SIZE - LEFT_FREE; i++) index.setClaim(mac(i), BOUND);
  const pool = index.pool("default");
  if (pool === undefined) throw new Error("no pool");
  const commit = each((i) => {
    const held = mac((i * 7919) % (SIZE - LEFT_FREE));
    index.deleteClaim(held);
    index.setClaim(held, BOUND);
  });
  const pick = each(() => {
    if (index.draw(pool, Math.random(), 0) === undefined) throw new Error("full too early");
  });
  for (let i = SIZE - LEFT_FREE; i < SIZE; i++) index.setClaim(mac(i), BOUND);
  const full = each(() => {
    if (index.draw(pool, Math.random(), 0) !== undefined) throw new Error("not full");
  });
  return { commit, pick, full };
}

function each(operation: (round: number) => void): number {
  const startMs = performance.now();
  for (let round = 0; round < ROUNDS; round++) operation(round);
  return (performance.now() - startMs) / ROUNDS;
}
