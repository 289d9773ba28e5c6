import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatMac, type Mac } from "../../../src/api/mac.ts";
import { HOST_ADDRESS_POLICIES, type HostAddressPolicy } from "../../../src/api/mac-pool.ts";
import type { ClaimRequest } from "../../../src/mac-pool/admission/claim-request.ts";
import { newClaim } from "../../../src/mac-pool/claims/claim.ts";
import type { ObservedOwner } from "../../../src/mac-pool/claims/owner.ts";
import type { PoolIndex } from "../../../src/mac-pool/pools/pool-index.ts";
import { owner } from "../claims/lifecycle-fixture.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { mac, macsOf, replica, request, seen } from "./ledger-fixture.ts";

const HOST = mac(3);
const REFUSAL =
  'MAC 02:00:00:00:01:03 of interface "i0" in VirtualMachine default/web is the address of interface eno1 of node node-a. ' +
  "The two would receive each other's traffic. Leave macAddress out to get an address from the pool, or choose another one.";
const WARNING =
  'MAC 02:00:00:00:01:03 of interface "i0" is also the address of interface eno1 of node node-a. ' +
  "They disturb each other on the same network. Leave macAddress out to get an address from the pool.";

function fixture(
  policy: HostAddressPolicy | undefined,
  objectsListing: (mac: Mac) => readonly ObservedOwner[] = () => [],
  size = 256,
) {
  const store = new MemoryClaimStore();
  const { ledger, index } = replica(store, size, objectsListing);
  const pool = index.pool("default");
  if (policy !== undefined) pool?.changePolicy({ ...pool.settings, hostAddressPolicy: policy });
  report(index, HOST);
  return { store, ledger, index };
}

function report(index: PoolIndex, ...macs: Mac[]): void {
  index.setNode("node-a", new Map(macs.map((each) => [each, "eno1"])));
}

/** The update of a VM that exists. */
const updateOf = (index: PoolIndex, uid: string): ClaimRequest => {
  const asked = request(index, "web", [HOST]);
  return { ...asked, ref: { ...asked.ref, uid } };
};

describe("an object that asks for the address of a node", () => {
  it.each([true, false])("is refused with both names where the policy says so, dry run or not (%s)", async (dryRun) => {
    const { store, ledger, index } = fixture("Deny");
    expect(await ledger.claim(request(index, "web", [HOST], dryRun))).toMatchObject({
      ok: false,
      refusal: { code: "MACPOOL_HOST_ADDRESS", message: REFUSAL },
    });
    expect(store.claims.size).toBe(0);
  });

  it.each([undefined, "Warn"] as const)("is admitted with a warning by %s", async (policy) => {
    const { store, ledger, index } = fixture(policy);
    for (const dryRun of [true, false]) {
      expect(await ledger.claim(request(index, "web", [HOST], dryRun))).toEqual({
        ok: true,
        macs: [HOST],
        warnings: [{ message: WARNING }],
      });
    }
    expect(store.claims.size).toBe(1);
  });

  it("is admitted without a word where the policy is off", async () => {
    const { ledger, index } = fixture("Off");
    expect(await ledger.claim(request(index, "web", [HOST]))).toEqual({ ok: true, macs: [HOST], warnings: [] });
  });

  it("gives back what was claimed for its other interfaces when it is refused", async () => {
    const { store, ledger, index } = fixture("Deny");
    expect(macsOf(await ledger.claim(request(index, "web", [mac(9), HOST])))).toEqual(["MACPOOL_HOST_ADDRESS"]);
    expect(store.claims.size).toBe(0);
  });

  it("keeps it under Deny if it had it before the node did, also when its creation is reviewed once more", async () => {
    const { store, ledger, index } = fixture("Deny");
    report(index);
    await ledger.claim(request(index, "web", [HOST]));
    report(index, HOST);
    expect(await ledger.claim(request(index, "web", [HOST]))).toMatchObject({ ok: true, warnings: [] });
    expect(macsOf(await ledger.claim(request(index, "other", [HOST])))).toEqual(["MACPOOL_HOST_ADDRESS"]);
    expect(store.claims.get("mac-02-00-00-00-01-03")?.status?.owners.map(({ name }) => name)).not.toContain("other");
  });

  it("keeps what it lists although its claim is lost, and gets nothing by having waited for a migration", async () => {
    const kept = fixture("Deny", () => [seen({ receiver: false })]);
    expect(await kept.ledger.claim(updateOf(kept.index, "u1"))).toMatchObject({ ok: true });

    const waited = fixture("Deny", () => [seen({ receiver: true })]);
    expect(macsOf(await waited.ledger.claim(updateOf(waited.index, "u1")))).toEqual(["MACPOOL_HOST_ADDRESS"]);

    const admitted = fixture("Deny");
    const receiver = owner({ name: "web", uid: "u1", receiver: true });
    await admitted.store.create(
      newClaim(HOST, { pool: "default", origin: "explicit" }, { phase: "Bound", owners: [receiver] }),
    );
    expect(macsOf(await admitted.ledger.claim(updateOf(admitted.index, "u1")))).toEqual(["MACPOOL_HOST_ADDRESS"]);
  });

  it("keeps what it lists as it is stored, unless it waited with it for a migration that did not come", async () => {
    const { ledger, index } = fixture("Deny");
    const asked = updateOf(index, "u1");
    const stored = { ...asked, wantedInterfaces: asked.wantedInterfaces.map((each) => ({ ...each, had: true })) };
    expect(macsOf(await ledger.claim({ ...stored, judgedAnew: true }))).toEqual(["MACPOOL_HOST_ADDRESS"]);
    expect(await ledger.claim(stored)).toMatchObject({ ok: true });
  });

  it("may receive a migration with it", async () => {
    const { ledger, index } = fixture("Deny");
    expect(await ledger.claim({ ...request(index, "web", [HOST]), receiver: true })).toMatchObject({ ok: true });
  });
});

describe("an object that asks for any address", () => {
  it.each(HOST_ADDRESS_POLICIES)("never gets that of a node, nor is it shown one, by the policy %s", async (policy) => {
    const { ledger, index } = fixture(policy, undefined, 4);
    const shown = new Set<string>();
    const given: string[] = [];
    for (const name of ["a", "b", "c", "d"]) {
      for (const each of macsOf(await ledger.claim(request(index, name, [undefined], true)))) shown.add(each);
      given.push(...macsOf(await ledger.claim(request(index, name, [undefined]))));
    }
    expect(given.sort()).toEqual([...[0, 1, 2].map((offset) => formatMac(mac(offset))), "MACPOOL_FULL"]);
    expect(shown).not.toContain(formatMac(HOST));
  });

  it("does not get it either when only released addresses are left, or by an update that is reviewed again", async () => {
    const { store, ledger, index } = fixture("Warn", undefined, 4);
    const until = "2026-01-01T00:00:00Z";
    const quarantined = { phase: "Quarantined" as const, owners: [], until };
    for (const offset of [0, 1, 2, 3]) {
      const facts = { isQuarantined: true, pool: "default", ownerCount: 0, namespaces: [], untilMs: offset };
      index.setClaim(mac(offset), facts);
      await store.create(newClaim(mac(offset), { pool: "default", origin: "automatic" }, quarantined));
    }
    report(index, mac(0), HOST);
    expect(macsOf(await ledger.claim(request(index, "a", [undefined], true)))).toEqual([formatMac(mac(1))]);
    expect(macsOf(await ledger.claim(request(index, "a", [undefined])))).toEqual([formatMac(mac(1))]);
    const asked = request(index, "b", [undefined]);
    const update = { ...asked, ref: { ...asked.ref, uid: "u-b" } };
    expect(macsOf(await ledger.claim(update))).toEqual([formatMac(mac(2))]);
    report(index, mac(0), mac(2), HOST);
    expect(macsOf(await ledger.claim(update))).toEqual(["MACPOOL_FULL"]);
    expect(macsOf(await ledger.claim(request(index, "c", [undefined], true)))).toEqual(["MACPOOL_FULL"]);
  });

  it("gets none of them, whatever nodes report and however many ask at once", async () => {
    const offsets = fc.uniqueArray(fc.nat(15), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(offsets, offsets, fc.integer({ min: 1, max: 20 }), async (one, other, count) => {
        const { ledger, index } = fixture("Warn", undefined, 16);
        index.setNode("node-a", new Map(one.map((offset) => [mac(offset), "eth0"])));
        index.setNode("node-b", new Map(other.map((offset) => [mac(offset), "bond0"])));
        const names = Array.from({ length: count }, (_, number) => `vm-${number}`);
        const answers = await Promise.all(names.map((name) => ledger.claim(request(index, name, [undefined]))));
        const given = answers.flatMap((answer) => (answer.ok ? answer.macs : []));
        const hosts = new Set([...one, ...other].map(mac));
        expect(given.filter((each) => hosts.has(each))).toEqual([]);
        expect(given).toHaveLength(Math.min(count, 16 - hosts.size));
      }),
    );
  });
});
