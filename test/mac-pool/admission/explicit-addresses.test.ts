import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Mac } from "../../../src/api/mac.ts";
import { EXPLICIT_POLICIES, type ExplicitAddresses } from "../../../src/api/mac-pool.ts";
import type { AdmissionRequest } from "../../../src/kube/server/admission-server.ts";
import type { ClaimRequest } from "../../../src/mac-pool/admission/claim-request.ts";
import type { ObservedOwner } from "../../../src/mac-pool/claims/owner.ts";
import type { PoolIndex } from "../../../src/mac-pool/pools/pool-index.ts";
import { Segments } from "../../../src/mac-pool/pools/segments.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { poolSettings } from "../pool-settings.ts";
import { mac, macsOf, replica, request, seen } from "./ledger-fixture.ts";
import { review, reviewParts, vm } from "./review-fixture.ts";

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
          'MAC 02:00:00:00:01:28 of interface "i0" is outside the ranges of MACPool default, which serves namespace default ' +
          "with explicitAddresses OwnPool. " +
          "Leave macAddress out to get an address from the pool, or choose a free one of 02:00:00:00:01:00-02:00:00:00:01:0f.",
      },
    });
    const outside = fixture("OutsidePools");
    expect(await outside.ledger.claim(request(outside.index, "web", [OTHER]))).toMatchObject({
      refusal: {
        message:
          'MAC 02:00:00:00:01:28 of interface "i0" is in the range of a MACPool, and MACPool default serves namespace default ' +
          "with explicitAddresses OutsidePools. " +
          "Leave macAddress out to get an address from the pool, or choose one outside the ranges of all MACPools.",
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

  it("is judged where it waits for a live migration as anywhere else, and told that the address can't come here", async () => {
    const { store, ledger, index } = fixture("OwnPool");
    for (const asked of [request(index, "web", [OTHER]), updateOf(request(index, "web", [OTHER]))]) {
      expect(await ledger.claim({ ...asked, receiver: true })).toMatchObject({
        refusal: {
          code: REFUSED,
          message:
            'MAC 02:00:00:00:01:28 of interface "i0" is outside the ranges of MACPool default, which serves namespace default ' +
            "with explicitAddresses OwnPool. A live migration brings its address along: receive it in a namespace whose " +
            "MACPool allows this address.",
        },
      });
    }
    expect(store.claims.size).toBe(0);
    expect(await ledger.claim({ ...request(index, "web", [OWN]), receiver: true })).toMatchObject({ ok: true });
  });

  it("keeps what it got while it waited for a live migration, whether or not that came", async () => {
    const { ledger, index, setPolicy } = fixture(undefined);
    await ledger.claim({ ...request(index, "web", [OTHER]), receiver: true });
    setPolicy("OwnPool");
    for (const receiver of [true, false]) {
      const asked = { ...updateOf(request(index, "web", [OTHER])), receiver, judgedAnew: !receiver };
      expect(await ledger.claim(asked)).toMatchObject({ ok: true });
    }

    const lost = fixture("OwnPool", () => [seen({ receiver: true })]);
    expect(await lost.ledger.claim(updateOf(request(lost.index, "web", [OTHER])))).toMatchObject({ ok: true });
  });

  it("gets nothing by a pod that may be a launcher of its name", async () => {
    const launcher = seen({ uid: undefined, countsAsOwner: false });
    const { ledger, index } = fixture("OwnPool", () => [launcher]);
    expect(macsOf(await ledger.claim(updateOf(request(index, "web", [OTHER]))))).toEqual([REFUSED]);
  });

  it("keeps what it lists as it is stored where its claim says so too, also when it waits no longer", async () => {
    const stored = (index: PoolIndex, judgedAnew: boolean): ClaimRequest => {
      const asked = updateOf(request(index, "web", [OTHER]));
      return { ...asked, judgedAnew, wantedInterfaces: asked.wantedInterfaces.map((each) => ({ ...each, had: true })) };
    };
    for (const judgedAnew of [true, false]) {
      for (const named of [{ name: "web" }, { name: undefined, generateName: "we" }]) {
        const { ledger, index, setPolicy } = fixture(undefined);
        const made = request(index, "web", [OTHER]);
        await ledger.claim({ ...made, ref: { ...made.ref, ...named } });
        setPolicy("OwnPool");
        expect(await ledger.claim(stored(index, judgedAnew))).toMatchObject({ ok: true });
      }
      const { ledger, index, store } = fixture("OwnPool");
      expect(macsOf(await ledger.claim(stored(index, judgedAnew)))).toEqual([REFUSED]);
      expect(store.claims.size).toBe(0);
    }
  });

  it("keeps what it is stored with, which is in no pool, and nothing beside another that has it", async () => {
    const stored = (index: PoolIndex, mac: Mac): ClaimRequest => {
      const asked = updateOf(request(index, "web", [mac]));
      return { ...asked, wantedInterfaces: asked.wantedInterfaces.map((each) => ({ ...each, had: true })) };
    };
    const { ledger, index } = fixture("OwnPool");
    await ledger.claim({ ...request(index, "source", [OTHER]), pool: index.pool("blue") });
    expect(macsOf(await ledger.claim(stored(index, OTHER)))).toEqual([REFUSED]);
    expect(await ledger.claim(stored(index, mac(0xf0)))).toMatchObject({ ok: true });
    await ledger.claim(request(index, "first", [OWN]));
    expect(macsOf(await ledger.claim(stored(index, OWN)))).toEqual(["MACPOOL_CONFLICT"]);
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

describe("a VM that waits no longer for a live migration", () => {
  const forbidden = "02:ee:00:00:00:05";
  const withStrategy = (runStrategy: string, macAddress: string): object => {
    const { spec, ...rest } = vm([{ name: "a", bridge: {}, macAddress }]) as { readonly spec: object };
    return { ...rest, spec: { ...spec, runStrategy } };
  };

  it.each(["Halted", "Always", "Manual", "RerunOnFailure"])(
    "keeps its address as it becomes %s, and gets no other by that",
    async (runStrategy) => {
      const parts = reviewParts();
      const pool = parts.index.pool("default");
      pool?.changePolicy({ ...pool.settings, explicitAddresses: "OwnPool" });
      const update = {
        operation: "UPDATE",
        oldObject: withStrategy("WaitAsReceiver", forbidden) as AdmissionRequest["object"],
      } as const;
      for (const dryRun of [true, false]) {
        const kept = await review(withStrategy(runStrategy, forbidden), { ...update, dryRun }, parts);
        expect(kept.answer).toEqual({ allowed: true });
        const other = await review(withStrategy(runStrategy, "02:ee:00:00:00:06"), { ...update, dryRun }, parts);
        expect(other.refusal?.code).toBe(REFUSED);
      }
    },
  );
});
