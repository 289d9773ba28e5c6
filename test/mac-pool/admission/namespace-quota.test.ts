import { describe, expect, it } from "vitest";
import type { Mac } from "../../../src/api/mac.ts";
import type { ClaimRequest } from "../../../src/mac-pool/admission/claim-request.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { poolSettings } from "../pool-settings.ts";
import { ledgerOf, mac, macsOf, replica, request } from "./ledger-fixture.ts";

const OUTSIDE = 1_000;

function limited(most: number) {
  const store = new MemoryClaimStore();
  const { ledger, index } = replica(store, 64);
  const pool = index.pool("default");
  if (pool !== undefined) index.setPool({ ...pool.settings, maxAddressesPerNamespace: most });
  const ask = (name: string, wantedInterfaces: readonly (Mac | undefined)[]) =>
    ledger.claim(request(index, name, wantedInterfaces));
  const show = (offset: number): void =>
    index.setClaim(mac(offset), {
      isQuarantined: false,
      pool: "default",
      ownerCount: 1,
      namespaces: ["default"],
      untilMs: 0,
    });
  return { store, ledger, index, ask, show };
}

describe("the limit of a namespace's addresses", () => {
  it("counts what the cache shows, what was given since and what is being given, each once", async () => {
    const { ask, show, store } = limited(4);
    show(63);
    const results = await Promise.all(["a", "b", "c", "d"].map((name) => ask(name, [undefined])));
    expect(results.filter(({ ok }) => ok)).toHaveLength(3);
    expect(store.claims.size).toBe(3);
    for (const offset of [0]) show(offset);
    expect(macsOf(await ask("e", [undefined]))).toEqual(["MACPOOL_NAMESPACE_LIMIT"]);
  });

  it("says how many there are, how many are asked for, and who may change that", async () => {
    const { ask } = limited(1);
    expect(await ask("a", [undefined, undefined])).toMatchObject({
      refusal: {
        message:
          "namespace default has 0 MAC addresses and asks for 2 more, and maxAddressesPerNamespace of MACPool default is 1. " +
          "Delete objects that are no longer needed, or ask an administrator for a higher limit.",
      },
    });
  });

  it("tells the same number however often it is asked, whatever other namespaces were given", async () => {
    const { ask, ledger, index } = limited(3);
    expect((await ask("first", [undefined])).ok).toBe(true);
    const many = Array.from({ length: 32 }, (_, offset) => mac(offset + 10));
    const told = async () => {
      const result = await ask("a", many);
      return result.ok || result.refusal.message.split(",")[0];
    };
    const text = "namespace default has 1 MAC address and asks for 32 more";
    expect(await told()).toBe(text);
    for (const offset of [12, 13]) {
      const elsewhere = request(index, "b", [mac(offset)]);
      expect((await ledger.claim({ ...elsewhere, ref: { ...elsewhere.ref, namespace: "other" } })).ok).toBe(true);
      expect(await told()).toBe(text);
    }
  });

  it("is told after the policy that keeps the namespace from an address", async () => {
    const { ask, index, store } = limited(1);
    const pool = index.pool("default");
    if (pool !== undefined) index.setPool({ ...pool.settings, explicitAddresses: "OwnPool" });
    expect(macsOf(await ask("a", [undefined, mac(0), mac(OUTSIDE)]))).toEqual(["MACPOOL_EXPLICIT_ADDRESS"]);
    expect(store.claims.size).toBe(0);
    expect(macsOf(await ask("a", [undefined, mac(0)]))).toEqual(["MACPOOL_NAMESPACE_LIMIT"]);
  });

  it("counts addresses that are written by hand, also outside every range", async () => {
    const { ask } = limited(1);
    expect((await ask("a", [mac(OUTSIDE)])).ok).toBe(true);
    expect(macsOf(await ask("b", [mac(OUTSIDE + 1)]))).toEqual(["MACPOOL_NAMESPACE_LIMIT"]);
    expect(macsOf(await ask("b", [undefined]))).toEqual(["MACPOOL_NAMESPACE_LIMIT"]);
  });

  it("does not count an address twice that an object of the namespace has already", async () => {
    const { ledger, index, show, store } = limited(1);
    const asked: ClaimRequest = { ...request(index, "a", [mac(0)]), receiver: true };
    expect((await ledger.claim(asked)).ok).toBe(true);
    expect((await ledger.claim(asked)).ok).toBe(true);
    show(0);
    expect((await ledger.claim(asked)).ok).toBe(true);
    expect(store.claims.size).toBe(1);
  });

  it("counts an update once, however often and side by side it is reviewed", async () => {
    const { ledger, index, store } = limited(1);
    const asked = request(index, "a", [undefined]);
    const update: ClaimRequest = { ...asked, ref: { ...asked.ref, uid: "u1" } };
    const reviews = await Promise.all([1, 2, 3].map(() => ledger.claim(update)));
    expect(new Set(reviews.map((result) => macsOf(result).join()))).toEqual(
      new Set([[...store.claims.values()].map(({ spec }) => spec.mac).join()]),
    );
    expect((await ledger.claim(update)).ok).toBe(true);
    expect(store.claims.size).toBe(1);
    const other: ClaimRequest = { ...update, ref: { ...asked.ref, uid: "u2" } };
    expect(macsOf(await ledger.claim(other))).toEqual(["MACPOOL_NAMESPACE_LIMIT"]);
  });

  it("counts an interface anew whose address another of the object has taken over", async () => {
    const settings = { ...poolSettings(mac(0), 64), maxAddressesPerNamespace: 1 };
    const { ledger, index } = ledgerOf(new MemoryClaimStore(), settings, undefined, undefined, () => [mac(0)]);
    index.setClaim(mac(0), {
      isQuarantined: false,
      pool: "default",
      ownerCount: 1,
      namespaces: ["default"],
      untilMs: 0,
    });
    const asked = request(index, "a", [undefined]);
    const update: ClaimRequest = { ...asked, ref: { ...asked.ref, uid: "u1" }, listed: new Set([mac(0)]) };
    expect(macsOf(await ledger.claim(update))).toEqual(["MACPOOL_NAMESPACE_LIMIT"]);
    expect((await ledger.claim({ ...update, listed: new Set() })).ok).toBe(true);
  });

  it("gives back the room of a request that failed or was a dry run", async () => {
    const { ask, ledger, index } = limited(1);
    expect((await ledger.claim(request(index, "dry", [undefined], true))).ok).toBe(true);
    await ledger.claim({ ...request(index, "other", [mac(5)]), ref: { kind: "Pod", namespace: "other", name: "p" } });
    expect(macsOf(await ask("a", [mac(5)]))).toEqual(["MACPOOL_CONFLICT"]);
    expect((await ask("a", [undefined])).ok).toBe(true);
  });

  it("holds for each namespace by itself, and only where a pool says so", async () => {
    const { ledger, index, ask } = limited(1);
    expect((await ask("a", [undefined])).ok).toBe(true);
    const elsewhere = request(index, "b", [undefined]);
    expect((await ledger.claim({ ...elsewhere, ref: { ...elsewhere.ref, namespace: "other" } })).ok).toBe(true);
    const { ledger: free, index: unlimited } = replica(new MemoryClaimStore(), 64);
    const many = Array.from({ length: 60 }, () => undefined);
    expect((await free.claim(request(unlimited, "a", many))).ok).toBe(true);
  });
});
