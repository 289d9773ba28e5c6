import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Mac } from "../../../src/api/mac.ts";
import { EXPLICIT_POLICIES, type ExplicitAddresses } from "../../../src/api/mac-pool.ts";
import type { ClaimRequest } from "../../../src/mac-pool/admission/claim-request.ts";
import { newClaim } from "../../../src/mac-pool/claims/claim.ts";
import type { ObservedOwner } from "../../../src/mac-pool/claims/owner.ts";
import type { PoolIndex } from "../../../src/mac-pool/pools/pool-index.ts";
import { Segments } from "../../../src/mac-pool/pools/segments.ts";
import { owner } from "../claims/lifecycle-fixture.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { poolSettings } from "../pool-settings.ts";
import { mac, macsOf, replica, request } from "./ledger-fixture.ts";

/** Of the pool `default`, of another one, of both, and of none. */
const OWN = mac(3);
const OTHER = mac(40);
const BOTH = mac(12);
const NOWHERE = mac(99);
const SUBJECTS = { OWN, OTHER, BOTH, NOWHERE };
const REFUSED = "MACPOOL_EXPLICIT_ADDRESS";

function fixture(
  explicitAddresses: ExplicitAddresses | undefined,
  objectsListing: (mac: Mac) => readonly ObservedOwner[] = () => [],
) {
  const store = new MemoryClaimStore();
  const { ledger, index } = replica(store, 16, objectsListing);
  index.setPool(poolSettings(mac(10), 40, { name: "blue" }));
  const setPolicy = (policy: ExplicitAddresses): void => {
    const pool = index.pool("default");
    pool?.changePolicy({ ...pool.settings, explicitAddresses: policy });
  };
  if (explicitAddresses !== undefined) setPolicy(explicitAddresses);
  return { store, ledger, index, setPolicy };
}

const seen = (more: Partial<ObservedOwner>): ObservedOwner => ({
  kind: "VirtualMachine",
  namespace: "default",
  name: "web",
  uid: "u1",
  interface: "i0",
  countsAsOwner: true,
  ...more,
});

const updateOf = (asked: ClaimRequest): ClaimRequest => ({ ...asked, ref: { ...asked.ref, uid: "u1" } });

describe("an object that asks for an address", () => {
  it.each([
    [undefined, { OWN: true, OTHER: true, BOTH: true, NOWHERE: true }],
    ["Anywhere", { OWN: true, OTHER: true, BOTH: true, NOWHERE: true }],
    ["OwnPool", { OWN: true, OTHER: false, BOTH: true, NOWHERE: false }],
    ["OutsidePools", { OWN: false, OTHER: false, BOTH: false, NOWHERE: true }],
  ] as const)("gets by the policy %s what it allows, dry run or not", async (policy, allowed) => {
    const { store, ledger, index } = fixture(policy);
    for (const dryRun of [true, false]) {
      const results: Record<string, boolean> = {};
      for (const [name, wanted] of Object.entries(SUBJECTS)) {
        const [given] = macsOf(await ledger.claim(request(index, name.toLowerCase(), [wanted], dryRun)));
        results[name] = given !== REFUSED;
      }
      expect(results).toEqual(allowed);
    }
    expect(store.claims.size).toBe(Object.values(allowed).filter(Boolean).length);
  });

  it("is told by which pool and policy it is refused and what to do, and not whose address it is", async () => {
    const own = fixture("OwnPool");
    await own.ledger.claim({ ...request(own.index, "victim", [OTHER]), pool: own.index.pool("blue") });
    own.index.setNode("node-a", new Map([[OTHER, "eno1"]]));
    expect(await own.ledger.claim(request(own.index, "web", [OTHER]))).toEqual({
      ok: false,
      refusal: {
        code: REFUSED,
        about: { interface: "i0", mac: OTHER },
        message:
          'MAC 02:00:00:00:01:28 of interface "i0" is outside the ranges of MACPool default, and explicitAddresses of MACPool ' +
          "default, which serves namespace default, is OwnPool. " +
          "Leave macAddress out to get a free address, or choose one of 02:00:00:00:01:00-02:00:00:00:01:0f.",
      },
    });
    const outside = fixture("OutsidePools");
    expect(await outside.ledger.claim(request(outside.index, "web", [OTHER]))).toMatchObject({
      refusal: {
        message:
          'MAC 02:00:00:00:01:28 of interface "i0" is in the range of a MACPool, and explicitAddresses of MACPool ' +
          "default, which serves namespace default, is OutsidePools. " +
          "Leave macAddress out to get a free address, or choose one outside the ranges of all MACPools.",
      },
    });
  });

  it("finds an excluded address outside", async () => {
    const segments = new Segments([{ start: mac(0), end: mac(9) }], [{ start: mac(4), end: mac(5) }]);
    const given: string[] = [];
    for (const explicitAddresses of ["OutsidePools", "OwnPool"] as const) {
      const { ledger, index } = replica(new MemoryClaimStore(), 1);
      index.setPool(poolSettings(mac(0), 10, { segments, explicitAddresses }));
      for (const wanted of [3, 4]) given.push(...macsOf(await ledger.claim(request(index, "web", [mac(wanted)]))));
    }
    expect(given).toEqual([REFUSED, "02:00:00:00:01:04", "02:00:00:00:01:03", REFUSED]);
  });

  it("gets what no pool forbids where none serves its namespace", async () => {
    const { ledger, index } = fixture("OwnPool");
    expect(await ledger.claim({ ...request(index, "web", [OTHER]), pool: undefined })).toMatchObject({ ok: true });
  });

  it("keeps it when the policy is tightened, also when its claim or the cache knows nothing of it yet", async () => {
    const { ledger, index, setPolicy } = fixture(undefined);
    await ledger.claim(request(index, "web", [OTHER]));
    setPolicy("OwnPool");
    expect(await ledger.claim(updateOf(request(index, "web", [OTHER])))).toMatchObject({ ok: true });
    expect(macsOf(await ledger.claim(request(index, "new", [OTHER])))).toEqual([REFUSED]);

    const lost = fixture("OwnPool", (asked) => (asked === OTHER ? [seen({ receiver: false })] : []));
    expect(await lost.ledger.claim(updateOf(request(lost.index, "web", [OTHER])))).toMatchObject({ ok: true });
    expect(macsOf(await lost.ledger.claim(request(lost.index, "new", [OTHER])))).toEqual([REFUSED]);
  });

  it("may receive a migration with it, and gets nothing by having waited for one", async () => {
    const { store, ledger, index } = fixture("OwnPool");
    expect(await ledger.claim({ ...request(index, "web", [OTHER]), receiver: true })).toMatchObject({ ok: true });
    expect(macsOf(await ledger.claim(request(index, "web", [OTHER])))).toEqual([REFUSED]);

    const receiver = owner({ name: "api", uid: "u1", receiver: true });
    const claim = { pool: "default", origin: "explicit" } as const;
    await store.create(newClaim(NOWHERE, claim, { phase: "Allocated", owners: [receiver] }));
    expect(macsOf(await ledger.claim(updateOf(request(index, "api", [NOWHERE]))))).toEqual([REFUSED]);
  });

  it("keeps what it lists as it is stored, unless it waited with it for a migration that did not come", async () => {
    const stored = (index: PoolIndex, judgedAnew: boolean): ClaimRequest => {
      const asked = updateOf(request(index, "web", [OTHER]));
      return { ...asked, judgedAnew, wantedInterfaces: asked.wantedInterfaces.map((each) => ({ ...each, had: true })) };
    };
    const { ledger, index } = fixture("OwnPool");
    expect(macsOf(await ledger.claim(stored(index, true)))).toEqual([REFUSED]);
    expect(await ledger.claim(stored(index, false))).toMatchObject({ ok: true });
  });

  it("leaves no claim of its other interfaces, and no trace on the claim of the owner, when it is refused", async () => {
    const { store, ledger, index } = fixture("OwnPool");
    await ledger.claim({ ...request(index, "victim", [OTHER]), pool: index.pool("blue") });
    const before = [...store.claims];
    expect(macsOf(await ledger.claim(request(index, "web", [OWN, undefined, OTHER])))).toEqual([REFUSED]);
    expect([...store.claims]).toEqual(before);
  });

  it("gets what its policy allows, whatever the ranges and the address", async () => {
    const span = fc.record({ first: fc.nat(20), size: fc.integer({ min: 1, max: 20 }) });
    const policies = fc.constantFrom(...EXPLICIT_POLICIES);
    await fc.assert(
      fc.asyncProperty(span, span, fc.nat(45), policies, async (mine, theirs, wanted, explicitAddresses) => {
        const { ledger, index } = replica(new MemoryClaimStore(), 1);
        index.setPool(poolSettings(mac(mine.first), mine.size, { explicitAddresses }));
        index.setPool(poolSettings(mac(theirs.first), theirs.size, { name: "blue" }));
        const isIn = ({ first, size }: typeof mine): boolean => wanted >= first && wanted < first + size;
        const allowed = {
          Anywhere: true,
          OwnPool: isIn(mine),
          OutsidePools: !(isIn(mine) || isIn(theirs)),
        };
        const { ok } = await ledger.claim(request(index, "web", [mac(wanted)]));
        expect(ok).toBe(allowed[explicitAddresses]);
      }),
    );
  });
});
