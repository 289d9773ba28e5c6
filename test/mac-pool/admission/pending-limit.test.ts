import { describe, expect, it } from "vitest";
import {
  MAX_INTERFACES,
  MAX_OVERDUE_PER_POOL,
  maxOverdueInNamespace,
  maxPendingInNamespace,
  OVERDUE_AFTER_MS,
} from "../../../src/mac-pool/claims/limits.ts";
import type { PoolIndex } from "../../../src/mac-pool/pools/pool-index.ts";
import { ManualClock } from "../../kube/support/manual-clock.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { mac, macsOf, replica, request } from "./ledger-fixture.ts";

const LIMIT = maxOverdueInNamespace(2 ** 20);

function fixture(size: number) {
  const clock = new ManualClock();
  return { clock, ...replica(new MemoryClaimStore(), size, () => [], clock) };
}

function pend(index: PoolIndex, clock: ManualClock, count: number, namespaceOf: (offset: number) => string): void {
  for (let offset = 0; offset < count; offset++) {
    const namespaces = [namespaceOf(offset)];
    const facts = { isQuarantined: false, pool: "default", ownerCount: 1, namespaces, untilMs: 0 };
    index.setClaim(mac(offset), facts);
    index.pending.set(mac(offset), namespaces, clock.monotonicMs(), true);
  }
}

describe("the limit of addresses whose objects were never created", () => {
  it("refuses a namespace that has too many of them", async () => {
    const { clock, ledger, index } = fixture(2 ** 20);
    pend(index, clock, LIMIT, () => "default");
    await clock.advance(OVERDUE_AFTER_MS);
    expect(macsOf(await ledger.claim(request(index, "a", [undefined])))).toEqual(["MACPOOL_PENDING_LIMIT"]);
    index.deleteClaim(mac(0));
    expect((await ledger.claim(request(index, "a", [undefined]))).ok).toBe(true);
  });

  it("meets no burst whose objects may still be on their way", async () => {
    const { clock, ledger, index } = fixture(2 ** 20);
    pend(index, clock, 3 * LIMIT, () => "default");
    await clock.advance(OVERDUE_AFTER_MS - 1);
    expect((await ledger.claim(request(index, "a", [undefined]))).ok).toBe(true);
  });

  it("counts none whose object was seen, whether or not it is gone", async () => {
    const { clock, ledger, index } = fixture(2 ** 20);
    pend(index, clock, 2 * LIMIT, () => "default");
    for (let offset = 0; offset < 2 * LIMIT; offset++) index.pending.list(mac(offset));
    await clock.advance(OVERDUE_AFTER_MS);
    expect((await ledger.claim(request(index, "a", [undefined]))).ok).toBe(true);
  });

  it("keeps the age of a claim that another request for the same object renews", async () => {
    const { clock, ledger, index } = fixture(2 ** 20);
    pend(index, clock, LIMIT, () => "default");
    await clock.advance(OVERDUE_AFTER_MS - 1);
    pend(index, clock, LIMIT, () => "default");
    await clock.advance(1);
    expect(macsOf(await ledger.claim(request(index, "a", [undefined])))).toEqual(["MACPOOL_PENDING_LIMIT"]);
    pend(index, clock, LIMIT, () => "other");
    expect((await ledger.claim(request(index, "a", [undefined]))).ok).toBe(true);
  });

  it("lets a namespace have a quarter of a pool, and no less than a few", () => {
    expect([4, 32, 64, 4096, 2 ** 20].map(maxOverdueInNamespace)).toEqual([8, 8, 16, 1024, 2000]);
  });

  it("bounds what the reviews of a namespace claim before any object is seen, also when all come at once", async () => {
    const { ledger, index } = fixture(4096);
    const wantedInterfaces = Array<undefined>(MAX_INTERFACES).fill(undefined);
    const forged = (i: number) => ledger.claim(request(index, `forged-${i}`, wantedInterfaces));
    const results = await Promise.all(Array.from({ length: 40 }, (_, i) => forged(i)));
    expect(results.filter(({ ok }) => ok)).toHaveLength(maxPendingInNamespace(4096) / MAX_INTERFACES);
    const { ref, ...other } = request(index, "honest", [undefined]);
    expect((await ledger.claim({ ...other, ref: { ...ref, namespace: "other" } })).ok).toBe(true);
  });

  it("refuses the namespaces that have a part in it while a pool has too many of them, and no others", async () => {
    const { clock, ledger, index } = fixture(2 ** 20);
    pend(index, clock, MAX_OVERDUE_PER_POOL, (offset) => `n${offset % 64}`);
    await clock.advance(OVERDUE_AFTER_MS);
    expect((await ledger.claim(request(index, "a", [undefined]))).ok).toBe(true);
    const { ref, ...asked } = request(index, "b", [undefined]);
    const inFlooded = { ...asked, ref: { ...ref, namespace: "n1" } };
    expect(await ledger.claim(inFlooded)).toMatchObject({
      refusal: {
        code: "MACPOOL_PENDING_LIMIT",
        message: expect.stringContaining("MACPool default has reached the limit of 20000"),
      },
    });
    index.deleteClaim(mac(0));
    expect((await ledger.claim(inFlooded)).ok).toBe(true);
  });
});
