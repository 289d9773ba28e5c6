import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatMac } from "../../../src/api/mac.ts";
import type { MACClaim } from "../../../src/api/mac-claim.ts";
import { ConnectionError } from "../../../src/kube/client/api-error.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import type { ClaimResult } from "../../../src/mac-pool/admission/claim-request.ts";
import { newClaim } from "../../../src/mac-pool/claims/claim.ts";
import { RESERVATION_MS } from "../../../src/mac-pool/claims/limits.ts";
import { share } from "../../support/share.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { mac, macsOf, replica, request } from "./ledger-fixture.ts";

const HOUR_MS = 3_600_000;

describe("the ledger", () => {
  it("gives no address to two objects, however the requests of replicas that know nothing of each other interleave", async () => {
    const wanted = fc.option(fc.integer({ min: 0, max: 7 }), { nil: undefined });
    const asking = fc.array(fc.uniqueArray(wanted, { maxLength: 3, selector: (value) => value ?? Symbol() }), {
      minLength: 2,
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(asking, fc.scheduler(), async (objects, scheduler) => {
        const store = new MemoryClaimStore(() => scheduler.schedule(Promise.resolve()));
        const replicas = [replica(store, 8), replica(store, 8)];
        const running = objects.map((wantedInterfaces, position) => {
          const { ledger, index } = replicas[position % 2] ?? replica(store, 8);
          return ledger.claim(
            request(
              index,
              `vm-${position}`,
              wantedInterfaces.map((at) => (at === undefined ? undefined : mac(at))),
            ),
          );
        });
        const results = await scheduler.waitFor(Promise.all(running));
        const given = results.flatMap((result) => (result.ok ? result.macs : []));
        expect(new Set(given).size).toBe(given.length);
        for (const [position, result] of results.entries()) {
          const own = [...store.claims.values()].filter((claim) => claim.status?.owners[0]?.name === `vm-${position}`);
          // All or nothing, and what was given has a claim in this name.
          expect(own.map((claim) => claim.spec.mac).sort()).toEqual(result.ok ? result.macs.map(formatMac).sort() : []);
        }
      }),
      { numRuns: share(300) },
    );
  });

  it("draws again where another replica was faster", async () => {
    const store = new MemoryClaimStore();
    const [one, two] = [replica(store, 4), replica(store, 4)];
    const first = await one.ledger.claim(request(one.index, "a", [undefined, undefined]));
    const second = await two.ledger.claim(request(two.index, "b", [undefined, undefined]));
    expect(new Set([...macsOf(first), ...macsOf(second)]).size).toBe(4);
    expect(macsOf(await one.ledger.claim(request(one.index, "c", [undefined])))).toEqual(["MACPOOL_FULL"]);
  });

  it("writes nothing on a dry run, and marks nothing as taken", async () => {
    const store = new MemoryClaimStore();
    const { ledger, index } = replica(store, 1);
    for (let round = 0; round < 3; round++) {
      expect(macsOf(await ledger.claim(request(index, "a", [undefined], true)))).toEqual(["02:00:00:00:01:00"]);
    }
    expect(macsOf(await ledger.claim(request(index, "a", [undefined, undefined], true)))).toEqual(["MACPOOL_FULL"]);
    expect(store.writes).toEqual([]);
  });

  it("never shows one address for two interfaces on a dry run, also where only resting ones are left", async () => {
    const { index, ledger } = replica(new MemoryClaimStore(), 3);
    const facts = { isQuarantined: true, pool: "default", ownerCount: 0, namespaces: [] };
    for (const number of [0, 1]) index.setClaim(mac(number), { ...facts, untilMs: number + 1 });
    const macs = macsOf(await ledger.claim(request(index, "a", [undefined, undefined, undefined], true)));
    expect(new Set(macs)).toEqual(new Set([mac(0), mac(1), mac(2)].map(formatMac)));
    const own = request(index, "b", [undefined, undefined, undefined], true);
    expect(macsOf(await ledger.claim({ ...own, listed: new Set([mac(1)]) }))).toEqual(["MACPOOL_FULL"]);
  });

  it("shows different addresses on a dry run, and none that the object lists itself", async () => {
    const { ledger, index } = replica(new MemoryClaimStore(), 4);
    const wantedInterfaces = [undefined, mac(1), undefined, undefined];
    expect(macsOf(await ledger.claim(request(index, "a", wantedInterfaces, true))).sort()).toEqual(
      [mac(0), mac(1), mac(2), mac(3)].map(formatMac),
    );
  });

  it("gives back what it had when the API server stops answering in the middle", async () => {
    const store = new MemoryClaimStore();
    const { ledger, index } = replica(store, 8);
    const create = store.create.bind(store);
    store.create = (claim) =>
      claim.spec.mac === formatMac(mac(5))
        ? Promise.reject(new ConnectionError("gone", { written: false }))
        : create(claim);
    await expect(ledger.claim(request(index, "a", [mac(3), mac(5), undefined]))).rejects.toThrow("gone");
    expect(store.claims.size).toBe(0);
  });

  it("does not undo what somebody else has written meanwhile", async () => {
    const store = new MemoryClaimStore();
    const { ledger, index } = replica(store, 8);
    const create = store.create.bind(store);
    store.create = async (claim) => {
      if (claim.spec.mac !== formatMac(mac(5))) return create(claim);
      for (let other: MACClaim | undefined; other === undefined; other = store.claims.get("mac-02-00-00-00-01-03")) {
        await Promise.resolve();
      }
      await store.update(store.claims.get("mac-02-00-00-00-01-03") ?? claim);
      throw new ConnectionError("gone", { written: false });
    };
    await expect(ledger.claim(request(index, "a", [mac(3), mac(5)]))).rejects.toThrow("gone");
    expect([...store.claims.keys()]).toEqual(["mac-02-00-00-00-01-03"]);
  });

  it("uses the address that has rested longest when nothing else is free", async () => {
    const store = new MemoryClaimStore();
    const { ledger, index } = replica(store, 2);
    for (const [offset, until] of [
      [0, "2026-01-02T00:00:00.000Z"],
      [1, "2026-01-01T00:00:00.000Z"],
    ] as const) {
      await store.create(
        newClaim(mac(offset), { pool: "default", origin: "automatic" }, { phase: "Quarantined", owners: [], until }),
      );
      const facts = { isQuarantined: true, pool: "default", ownerCount: 0, namespaces: [] };
      index.setClaim(mac(offset), { ...facts, untilMs: Date.parse(until) });
    }
    expect(macsOf(await ledger.claim(request(index, "a", [undefined])))).toEqual(["02:00:00:00:01:01"]);
    expect(macsOf(await ledger.claim(request(index, "b", [undefined])))).toEqual(["02:00:00:00:01:00"]);
    expect(macsOf(await ledger.claim(request(index, "c", [undefined])))).toEqual(["MACPOOL_FULL"]);
  });

  it("offers a resting address again when the request that it was taken for failed", async () => {
    const store = new MemoryClaimStore();
    const { ledger, index } = replica(store, 1);
    const until = "2026-01-01T00:00:00Z";
    const status = { phase: "Quarantined", owners: [], until } as const;
    await store.create(newClaim(mac(0), { pool: "default", origin: "automatic" }, { ...status, owners: [] }));
    const facts = { isQuarantined: true, pool: "default", ownerCount: 0, namespaces: [], untilMs: 0 };
    index.setClaim(mac(0), facts);
    const read = store.read.bind(store);
    store.read = () => Promise.reject(new ConnectionError("gone", { written: false }));
    await expect(ledger.claim(request(index, "a", [undefined]))).rejects.toThrow("gone");
    store.read = read;
    expect(macsOf(await ledger.claim(request(index, "a", [undefined])))).toEqual(["02:00:00:00:01:00"]);
  });

  it("draws an address that comes free while it finds out that a resting one was taken", async () => {
    const store = new MemoryClaimStore();
    const { ledger, index } = replica(store, 2);
    const facts = { isQuarantined: true, pool: "default", ownerCount: 0, namespaces: [], untilMs: 0 };
    index.setClaim(mac(0), facts);
    index.setClaim(mac(1), { ...facts, isQuarantined: false });
    await ledger.claim(request(index, "other", [mac(0)]));
    const read = store.read.bind(store);
    store.read = (each) => {
      index.deleteClaim(mac(1));
      return read(each);
    };
    expect(macsOf(await ledger.claim(request(index, "a", [undefined])))).toEqual(["02:00:00:00:01:01"]);
    expect(macsOf(await ledger.claim(request(index, "b", [undefined])))).toEqual(["MACPOOL_FULL"]);
  });

  it("does not call a pool full while it is not known whether a failed creation took its last address", async () => {
    const store = new MemoryClaimStore();
    const { ledger, index } = replica(store, 1);
    const create = store.create.bind(store);
    store.create = () => Promise.reject(new ConnectionError("gone", { written: true }));
    await expect(ledger.claim(request(index, "a", [undefined]))).rejects.toThrow("gone");
    store.create = create;
    expect(macsOf(await ledger.claim(request(index, "a", [undefined])))).toEqual(["MACPOOL_BUSY"]);
  });

  it("keeps an address that the object asks for itself back from its own draw only", async () => {
    const store = new MemoryClaimStore();
    const { ledger, index } = replica(store, 3);
    const first = await ledger.claim(request(index, "a", [undefined, mac(0)]));
    expect(macsOf(first).sort()).toEqual(["02:00:00:00:01:00", "02:00:00:00:01:02"]);
    const other = new MemoryClaimStore();
    const { ledger: refusing, index: refused } = replica(other, 2);
    const wantedInterfaces = { ...request(refused, "b", [undefined]), listed: new Set([mac(0)]) };
    expect(macsOf(await refusing.claim(wantedInterfaces))).toEqual(["02:00:00:00:01:01"]);
    expect(macsOf(await refusing.claim(request(refused, "c", [undefined])))).toEqual(["02:00:00:00:01:00"]);
  });

  it("gives out nothing without a pool, and still keeps two objects from one explicit address", async () => {
    const { ledger, index } = replica(new MemoryClaimStore(), 8);
    index.deletePool("default");
    expect(macsOf(await ledger.claim(request(index, "a", [undefined])))).toEqual(["MACPOOL_NO_POOL"]);
    expect((await ledger.claim(request(index, "b", [mac(1)]))).ok).toBe(true);
    expect(macsOf(await ledger.claim(request(index, "c", [mac(1)])))).toEqual(["MACPOOL_CONFLICT"]);
  });

  it.each([-HOUR_MS, HOUR_MS])(
    "keeps the address of a claim that failed for half a minute, also when the clock is set by %d ms",
    async (stepMs) => {
      let [nowMs, setByMs, isDown] = [0, 0, true];
      const clock = { ...systemClock, monotonicMs: () => nowMs, now: () => nowMs + HOUR_MS + setByMs };
      const store = new MemoryClaimStore(async () => {
        if (isDown) throw new ConnectionError("socket hang up", { written: true });
      });
      const { ledger, index } = replica(store, 1, () => [], clock);
      const ask = (): Promise<ClaimResult> => ledger.claim(request(index, "a", [undefined]));
      await expect(ask()).rejects.toThrow("socket hang up");
      isDown = false;
      setByMs = stepMs;
      nowMs += RESERVATION_MS - 1;
      expect(macsOf(await ask())).toEqual(["MACPOOL_BUSY"]);
      nowMs += 2;
      expect(macsOf(await ask())).toEqual(["02:00:00:00:01:00"]);
    },
  );
});
