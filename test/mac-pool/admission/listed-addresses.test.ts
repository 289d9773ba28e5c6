import { describe, expect, it } from "vitest";
import { formatMac, type Mac } from "../../../src/api/mac.ts";
import { newClaim } from "../../../src/mac-pool/claims/claim.ts";
import { SOMEBODY } from "../../../src/mac-pool/claims/named-text.ts";
import type { ObservedOwner } from "../../../src/mac-pool/claims/owner.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { mac, macsOf, replica, request } from "./ledger-fixture.ts";

const observed = (name: string): ObservedOwner => ({
  kind: "VirtualMachine",
  namespace: "default",
  name,
  uid: `u-${name}`,
  interface: "i0",
  countsAsOwner: true,
});

describe("the ledger, where objects list an address that no claim knows", () => {
  it("gives out no address that an object lists, claim or no claim", async () => {
    const store = new MemoryClaimStore();
    const isListed = (each: Mac): boolean => each !== mac(2);
    const { ledger, index } = replica(store, 256, (each) => (isListed(each) ? [observed("old")] : []));
    expect(macsOf(await ledger.claim(request(index, "a", [undefined], true)))).toEqual([formatMac(mac(2))]);
    expect(macsOf(await ledger.claim(request(index, "a", [undefined])))).toEqual([formatMac(mac(2))]);
    expect(macsOf(await ledger.claim(request(index, "b", [undefined])))).toEqual(["MACPOOL_FULL"]);
    const until = "2026-01-01T00:00:00Z";
    index.setClaim(mac(0), { isQuarantined: true, pool: "default", ownerCount: 0, namespaces: [], untilMs: 0 });
    await store.create(
      newClaim(mac(0), { pool: "default", origin: "automatic" }, { phase: "Quarantined", owners: [], until }),
    );
    expect(macsOf(await ledger.claim(request(index, "b", [undefined])))).toEqual(["MACPOOL_FULL"]);
  });

  it("admits nobody to an address that another object lists, claim or no claim", async () => {
    const store = new MemoryClaimStore();
    const { ledger, index } = replica(store, 256, () => [observed("old")]);
    for (const dryRun of [true, false]) {
      expect(await ledger.claim(request(index, "a", [mac(0)], dryRun))).toMatchObject({
        refusal: { message: expect.stringContaining("is in use by VirtualMachine default/old (i0).") },
      });
    }
    expect(store.writes).toEqual([]);
    // The object itself, and the one that is created under its name, may have it.
    expect(macsOf(await ledger.claim(request(index, "old", [mac(0)])))).toEqual([formatMac(mac(0))]);
  });

  it("admits anybody, with a warning, to an address that objects only list", async () => {
    const store = new MemoryClaimStore();
    const pods: ObservedOwner[] = [
      { ...observed("p"), kind: "Pod", interface: "net1", countsAsOwner: false, onlyLists: true },
      { ...observed("q"), kind: "Pod", interface: "net1", namespace: "dev", countsAsOwner: false, onlyLists: true },
    ];
    // A pod that calls itself a launcher stands for a VM.
    const { ledger, index } = replica(store, 256, () => [...pods, { ...observed("fake"), countsAsOwner: false }]);
    for (const dryRun of [true, false]) {
      const result = await ledger.claim(request(index, "a", [mac(0)], dryRun));
      expect(result.ok && result.warnings.map(({ message }) => message)).toEqual([
        'MAC 02:00:00:00:01:00 of interface "i0" is also listed by Pod default/p (net1) and Pod dev/q (net1), to which ' +
          "the MAC pool did not give it: they disturb each other when they run on the same network.",
      ]);
      const [warning] = result.ok ? result.warnings : [];
      const hidden = warning?.naming?.render(({ namespace, name }) => (namespace === "dev" ? SOMEBODY : `${name}`));
      expect(hidden).toContain("is also listed by p (net1) and an object in another namespace, to which");
    }
    expect(store.claims.get("mac-02-00-00-00-01-00")?.status?.owners).toMatchObject([{ name: "a" }]);
  });

  it("chooses an address that they only list where the pool has no other, and says so", async () => {
    const store = new MemoryClaimStore();
    const pod: ObservedOwner = {
      ...observed("p"),
      kind: "Pod",
      interface: "net1",
      countsAsOwner: false,
      onlyLists: true,
    };
    const fake: ObservedOwner = { ...observed("fake"), countsAsOwner: false, byLauncher: true };
    const lists = (each: Mac): ObservedOwner[] => {
      if (each === mac(1)) return [];
      return each === mac(2) ? [pod, { ...observed("unplugged"), countsAsOwner: false }] : [pod, fake];
    };
    const { ledger, index } = replica(store, 256, lists);
    const pool = index.pool("default");
    for (const dryRun of [true, false]) {
      const result = await ledger.claim(request(index, "a", [undefined, undefined], dryRun));
      const [first, last] = macsOf(result);
      expect(first).toBe(formatMac(mac(1)));
      expect(result.ok && result.warnings.map(({ message }) => message)).toEqual([
        `MAC ${last} of interface "i1" is also listed by Pod default/p (net1), to which the MAC pool did not give it: they ` +
          "disturb each other when they run on the same network.",
      ]);
    }
    const rest = Array.from({ length: (pool?.capacity ?? 0) - 3 }, () => undefined);
    expect(macsOf(await ledger.claim(request(index, "b", rest)))).toHaveLength(rest.length);
    expect(store.claims.has(`mac-${formatMac(mac(2)).replaceAll(":", "-")}`)).toBe(false);
    expect(macsOf(await ledger.claim(request(index, "c", [undefined])))).toEqual(["MACPOOL_FULL"]);
  });

  it("lets an address that rests be chosen before one that they only list", async () => {
    const store = new MemoryClaimStore();
    const pod: ObservedOwner = {
      ...observed("p"),
      kind: "Pod",
      interface: "net1",
      countsAsOwner: false,
      onlyLists: true,
    };
    const { ledger, index } = replica(store, 256, (each) => (each === mac(0) ? [] : [pod]));
    const until = "2026-01-01T00:00:00Z";
    index.setClaim(mac(0), { isQuarantined: true, pool: "default", ownerCount: 0, namespaces: [], untilMs: 0 });
    await store.create(
      newClaim(mac(0), { pool: "default", origin: "automatic" }, { phase: "Quarantined", owners: [], until }),
    );
    expect(macsOf(await ledger.claim(request(index, "a", [undefined], true)))).toEqual([formatMac(mac(0))]);
    expect(macsOf(await ledger.claim(request(index, "a", [undefined])))).toEqual([formatMac(mac(0))]);
  });

  it("chooses one that rests and that they only list where nothing else is left, and says so", async () => {
    const store = new MemoryClaimStore();
    const guest: ObservedOwner = { ...observed("halted"), namespace: "dev", countsAsOwner: false, onlyLists: true };
    const { ledger, index } = replica(store, 1, () => [guest]);
    const until = "2026-01-01T00:00:00Z";
    index.setClaim(mac(0), { isQuarantined: true, pool: "default", ownerCount: 0, namespaces: [], untilMs: 0 });
    await store.create(
      newClaim(mac(0), { pool: "default", origin: "automatic" }, { phase: "Quarantined", owners: [], until }),
    );
    for (const dryRun of [true, false]) {
      const result = await ledger.claim(request(index, "a", [undefined], dryRun));
      expect(macsOf(result)).toEqual([formatMac(mac(0))]);
      expect(result.ok && result.warnings.map(({ message }) => message)).toMatchObject([
        expect.stringContaining("is also listed by VirtualMachine dev/halted"),
      ]);
    }
  });

  it("names the objects that list a shared address in its claim, and asks the others again where it exists", async () => {
    const store = new MemoryClaimStore();
    const { ledger, index } = replica(store, 256, () => [observed("old")]);
    const pool = index.pool("default");
    pool?.changePolicy({ ...pool.settings, conflictPolicy: "Warn" });
    expect(await ledger.claim(request(index, "a", [mac(0)]))).toMatchObject({
      ok: true,
      warnings: [{ message: expect.stringContaining("is also in use by VirtualMachine default/old (i0)") }],
    });
    await ledger.claim(request(index, "b", [mac(0)]));
    const status = store.claims.get("mac-02-00-00-00-01-00")?.status;
    expect(status?.owners.map(({ name, uid }) => [name, uid])).toEqual([
      ["old", "u-old"],
      ["a", undefined],
      ["b", undefined],
    ]);
    expect(status).toMatchObject({ phase: "Allocated" });
  });
});
