import { describe, expect, it } from "vitest";
import { parseMac } from "../../../src/api/mac.ts";
import type { ClaimOwner, MACClaim } from "../../../src/api/mac-claim.ts";
import { decideGrant, type GrantRequest } from "../../../src/mac-pool/claims/grant.ts";
import { meetingOwners, UNKNOWN_DOMAIN } from "../../../src/mac-pool/claims/layer2-domain.ts";
import type { NetworkPosition } from "../../../src/mac-pool/claims/listing-objects.ts";
import { allocatedTo as bound, NOW, observed, owner, step } from "./lifecycle-fixture.ts";

const MAC = parseMac("02:00:00:00:00:01") ?? (0 as never);
const [TEN, TWENTY, OTHER] = ["bridge br1 vlan 10", "bridge br1 vlan 20", "bridge br2"];

const at = (domain: string, more: Partial<ClaimOwner> = {}): ClaimOwner =>
  owner({ network: `multus ${domain}`, domains: [domain], ...more });

/** Networks lead where they did; an owner in the namespace `whole` may be in any. */
const domainsOf = ({ namespace, network, domains }: NetworkPosition) =>
  namespace === "whole" || network === undefined ? undefined : domains;

function decide(
  existing: MACClaim,
  domain: string | undefined,
  more: Partial<GrantRequest["requester"]> = {},
  objectsListing: GrantRequest["objectsListing"] = [],
) {
  const placed = { network: `multus ${domain}`, domains: domain === undefined ? undefined : [domain] };
  const requester = {
    kind: "VirtualMachine",
    namespace: "default",
    name: "late",
    interface: "a",
    ...placed,
    ...more,
  } as const;
  const known = { had: requester.uid !== undefined, isAwaited: false, pendingMs: 1, objectsListing };
  const base = { mac: MAC, requester, policyIn: () => undefined, field: "macAddress", ...known } as const;
  const decision = decideGrant(existing, { ...base, policy: "Deny", domainsOf }, NOW);
  return decision.ok ? { ...decision.claim.status, warning: decision.warning } : { code: decision.refusal.code };
}

const REFUSED = { code: "MACPOOL_CONFLICT" };

describe("a request for an address that others have, where networks are told apart", () => {
  it("is granted where no other can be met, and becomes a further owner without a warning", () => {
    expect(decide(bound(at(TEN)), TWENTY)).toMatchObject({
      warning: undefined,
      owners: [
        { name: "web", domains: [TEN] },
        { name: "late", domains: [TWENTY] },
      ],
    });
  });

  it("is refused where an owner has it on another network too, whatever the claim says", () => {
    const vm = { kind: "VirtualMachine", namespace: "default", name: "web", uid: "u1" } as const;
    const seen = { ...vm, interface: "n5", countsAsOwner: true };
    const on = (domain: string) => ({ ...seen, network: `multus ${domain}`, domains: [domain] });
    expect(decide(bound(at(TEN)), TWENTY, {}, [on(TEN)])).toMatchObject({ warning: undefined });
    expect(decide(bound(at(TEN)), TWENTY, {}, [on(TEN), on(TWENTY)])).toEqual(REFUSED);
    expect(decide(bound(), TWENTY, {}, [on(TEN), on(TWENTY)])).toEqual(REFUSED);
  });

  it("is refused where one can be met, or where that is not known", () => {
    const shared = bound(at(TEN), at(OTHER, { name: "other" }));
    expect(decide(shared, TEN)).toEqual(REFUSED);
    expect(decide(shared, OTHER)).toEqual(REFUSED);
    expect(decide(shared, "bridge br1")).toEqual(REFUSED);
    expect(decide(shared, undefined)).toEqual(REFUSED);
    expect(decide(bound(at(TEN, { namespace: "whole" })), TWENTY)).toEqual(REFUSED);
    expect(decide(bound(owner()), TWENTY)).toEqual(REFUSED);
  });

  it("is judged for an owner that moves, which keeps the domain that it comes from", () => {
    const shared = bound(at(TEN), at(TWENTY, { name: "late" }));
    expect(decide(shared, TEN, { uid: "u2" })).toEqual(REFUSED);
    expect(decide(shared, undefined, { uid: "u2" })).toEqual(REFUSED);
    expect(decide(shared, OTHER, { uid: "u2" })).toMatchObject({
      owners: [{ domains: [TEN] }, { uid: "u2", network: `multus ${OTHER}`, domains: [TWENTY, OTHER] }],
    });
    expect(decide(bound(owner({ name: "late" })), OTHER, { uid: "u2" })).toMatchObject({
      owners: [{ domains: [UNKNOWN_DOMAIN] }],
    });
  });

  it("is judged anew for a former receiver where it was let in as one, also after it was judged elsewhere", () => {
    const wasThere = at(TWENTY, { name: "late", receiver: true });
    const others = bound(at(TEN), wasThere);
    expect(decide(others, TWENTY, { uid: "u2" })).toMatchObject({ owners: [{}, { uid: "u2", domains: [TWENTY] }] });
    expect(decide(others, TWENTY, { uid: "u2" })).not.toMatchObject({ owners: [{}, { receiver: true }] });
    const moved = bound(at(TEN), { ...wasThere, domains: [TWENTY, TEN] });
    const waitsNoLonger = decide(moved, TWENTY, { uid: "u2" });
    expect(waitsNoLonger).toMatchObject({ owners: [{}, { uid: "u2", receiver: true, domains: [TWENTY, TEN] }] });
    const owners = "owners" in waitsNoLonger ? (waitsNoLonger.owners ?? []) : [];
    expect(decide(bound(...owners), TEN, { uid: "u2" })).toEqual(REFUSED);
  });

  it("is granted to an owner that stays where it is, beside whom it had before", () => {
    const twins = bound(at(TEN), at(TEN, { name: "late" }));
    expect(decide(twins, TEN, { uid: "u2" })).toHaveProperty("owners.length", 2);
    expect(decide(twins, TEN, { uid: "u2", network: "multus also-10" })).toHaveProperty("owners.length", 2);
  });
});

describe("an owner", () => {
  it("keeps its domains when its interface changes", () => {
    const seen = observed({ network: `multus ${TEN}`, interface: "b" });
    expect(step(bound(at(TEN)), [seen])).toMatchObject({ owners: [{ interface: "b", domains: [TEN] }] });
  });

  it("shares an address only with those that it can meet", () => {
    const [one, two, three] = [at(TEN), at(TWENTY, { name: "two" }), at(TEN, { name: "three" })];
    expect(meetingOwners([one, two], domainsOf)).toEqual([]);
    expect(meetingOwners([one, two, three], domainsOf)).toEqual([one, three]);
    expect(meetingOwners([one, two], () => undefined)).toEqual([one, two]);
    expect(meetingOwners([one, one], () => undefined)).toEqual([]);
  });
});
