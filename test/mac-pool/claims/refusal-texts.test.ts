import { describe, expect, it } from "vitest";
import { parseMac } from "../../../src/api/mac.ts";
import { SOMEBODY } from "../../../src/mac-pool/claims/named-text.ts";
import { conflict, full, sharedByOwners } from "../../../src/mac-pool/claims/refusals.ts";
import { readPool } from "../../../src/mac-pool/pools/pool-settings.ts";
import { mac, replica, request } from "../admission/ledger-fixture.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { observed, owner } from "./lifecycle-fixture.ts";

const MAC = parseMac("02:00:00:00:00:01") ?? (0 as never);
const ASKED = { field: "macAddress", pendingMs: 120_000, isAwaited: true } as const;

describe("a refusal", () => {
  it("says of a full pool who has its addresses, and when the next one is free", () => {
    const counts = {
      capacity: 32,
      used: 31,
      free: 1,
      pending: 20,
      quarantined: 4,
      outOfRange: 0,
      conflicts: 0,
      hostAddresses: 0,
    };
    expect(full("small", counts, 94_500).message).toBe(
      "the range is full: none of the 32 addresses of MACPool small is free. 7 are in use by objects, 20 are kept for objects that " +
        "were admitted and may still be stored, 4 are in quarantine, 1 is being given out, or listed by objects without a " +
        "claim. The next one is free in 95 s at the latest, unless its object is stored. Delete objects that are no longer needed, or ask the administrator to add a " +
        "range to the pool.",
    );
    expect(full("small", { ...counts, used: 32 }, undefined).message).not.toMatch(/being given out|next one|nodes/);
    const none = { pending: 0, quarantined: 0, used: 32, free: 0 };
    expect(full("small", { ...counts, ...none }, undefined).message).toContain(
      "small is free. 32 are in use by objects. Delete",
    );
    const kept = full("small", { ...counts, free: 0, hostAddresses: 1 }, undefined).message;
    expect(kept).toContain(
      "4 are in quarantine, 1 is used by nodes or by stations outside the cluster. Delete objects",
    );
  });

  it("counts the time until the next address is free from when the oldest claim was seen", async () => {
    const { ledger, index } = replica(new MemoryClaimStore(), 1);
    index.setClaim(mac(0), { isQuarantined: false, pool: "default", ownerCount: 1, namespaces: ["other"], untilMs: 0 });
    index.pending.set(mac(0), ["other"], performance.now(), true);
    const result = await ledger.claim(request(index, "a", [undefined]));
    expect(result.ok ? "" : result.refusal.message).toMatch(/The next one is free in 1(20|19|18) s at the latest/);
  });

  it("does not ask for a MACPool that exists and has no addresses", async () => {
    const { ledger, index } = replica(new MemoryClaimStore(), 1);
    const pool = index.pool("default");
    const nothing = readPool({ metadata: { name: "default" }, spec: { ranges: [] } }, undefined).settings.segments;
    if (pool !== undefined) index.setPool({ ...pool.settings, segments: nothing });
    const result = await ledger.claim(request(index, "a", [undefined]));
    expect(result).toMatchObject({ refusal: { code: "MACPOOL_NO_POOL" } });
    expect(result.ok ? "" : result.refusal.message).toContain(
      "MACPool default, which serves namespace default, has no addresses: its ranges are invalid, its exclusions cover them, or " +
        "they hold only 02:00:00:00:00:00, which KubeVirt reserves. Correct spec.ranges",
    );
  });

  it("does not say of an object that exists that it may never come", () => {
    const coming = conflict(MAC, "a", [owner()], { ...ASKED, objectsListing: [] }).message;
    expect(coming).toContain("which was admitted a short while ago and may still be created");
    expect(coming).toContain("it is free then if that object was not created");
    const exists = conflict(MAC, "a", [owner()], { ...ASKED, objectsListing: [observed()] }).message;
    expect(exists).not.toContain("admitted");
    expect(exists).toContain("first remove it from the other VM");
    const both = [owner(), owner({ kind: "Pod", name: "thief" })];
    expect(conflict(MAC, "a", both, { ...ASKED, isAwaited: false, objectsListing: [] }).message).toMatch(
      /To use this one, first remove it from the VM, and delete the pod\.$/,
    );
    const foreign = conflict(MAC, "a", both, { ...ASKED, isAwaited: false, objectsListing: [] }).naming;
    expect(foreign?.render(() => SOMEBODY)).toMatch(/To use this one, its owner has to give it up first\.$/);
  });

  it("names five owners and tells how many there are besides", () => {
    const owners = Array.from({ length: 64 }, (_, index) => owner({ name: `vm-${index}`, uid: `u${index}` }));
    const named = "VirtualMachine default/vm-3 (a), VirtualMachine default/vm-4 (a) and 59 more";
    expect(conflict(MAC, "a", owners, { ...ASKED, isAwaited: false, objectsListing: [] }).message).toContain(
      `${named}. Leave`,
    );
    expect(sharedByOwners("02:00:00:00:00:01", owners, "default").length).toBeLessThan(400);
  });

  it("names no object of another namespace in an event", () => {
    const owners = [owner({ name: "web" }), owner({ name: "secret", namespace: "bank" })];
    expect(sharedByOwners("02:00:00:00:00:01", owners, "default")).toBe(
      "MAC 02:00:00:00:00:01 is held by VirtualMachine default/web (a) and an object in another namespace. Give all but one of them another address before they run on the same network.",
    );
  });

  it("calls the ends of a range as the MACPool does, and quotes what is wrong", () => {
    const ranges = [{ start: "nonsense", end: "02:00:00:00:00:ff" }];
    expect(readPool({ metadata: { name: "default" }, spec: { ranges } }, undefined).problem).toBe(
      'spec.ranges[0]: failed to parse start "nonsense" because the mac address is invalid',
    );
  });
});
