import { describe, expect, it } from "vitest";
import { parseMac } from "../../../src/api/mac.ts";
import { type ClaimOwner, type MACClaim, MAX_CLAIM_OWNERS, type MacClaimStatus } from "../../../src/api/mac-claim.ts";
import { newClaim } from "../../../src/mac-pool/core/claim.ts";
import { type Evidence, isSettled, type LifecycleInput, nextStep } from "../../../src/mac-pool/core/lifecycle.ts";
import { MAX_CREATIONS_OF_ONE_NAME } from "../../../src/mac-pool/core/limits.ts";
import type { Sighting } from "../../../src/mac-pool/core/party.ts";

const MAC = parseMac("02:00:00:00:00:01") ?? (0 as never);
const NOW = Date.parse("2026-01-01T00:00:00Z");
const SINCE = "2025-12-31T00:00:00.000Z";
const QUARANTINE_MS = 60_000;
const NOTHING: Evidence = { holders: [], existing: [] };

function owner(more: Partial<ClaimOwner> = {}): ClaimOwner {
  return { kind: "VirtualMachine", namespace: "default", name: "web", interface: "a", since: SINCE, ...more };
}

function sighting(more: Partial<Sighting> = {}): Sighting {
  return {
    kind: "VirtualMachine",
    namespace: "default",
    name: "web",
    uid: "u1",
    interface: "a",
    adoptable: true,
    confirms: true,
    ...more,
  };
}

function claim(status: MacClaimStatus): MACClaim {
  const made = newClaim(MAC, { pool: "default", origin: "automatic" }, status);
  return { ...made, metadata: { ...made.metadata, resourceVersion: "7" } };
}

interface Asked extends Partial<LifecycleInput> {
  /** All owners of the claim have been waited for long enough. */
  readonly deadlineOver?: boolean;
}

function step(existing: MACClaim | undefined, evidence: Evidence, { deadlineOver = false, ...more }: Asked = {}) {
  const input: LifecycleInput = {
    mac: MAC,
    claim: existing,
    evidence,
    overdue: new Set(deadlineOver ? existing?.status?.owners : []),
    restOver: false,
    nowMs: NOW,
    quarantineMs: QUARANTINE_MS,
    adoptAs: undefined,
    ...more,
  };
  const next = nextStep(input);
  if (next.action === "none") return { action: next.action };
  return { action: next.action, ...next.claim.status, version: next.claim.metadata.resourceVersion };
}

const pending = (...owners: ClaimOwner[]): MACClaim => claim({ phase: "Pending", owners, deadline: SINCE });
const bound = (...owners: ClaimOwner[]): MACClaim => claim({ phase: "Bound", owners });
const settled = (existing: MACClaim | undefined, cached: readonly Sighting[], overdue: readonly ClaimOwner[] = []) =>
  isSettled(existing, cached, new Set(overdue));
const seen = (...holders: Sighting[]): Evidence => ({ holders, existing: holders });

describe("a pending claim", () => {
  it("is bound to the object that shows up, under the version that was read", () => {
    expect(step(pending(owner()), seen(sighting()))).toMatchObject({
      action: "update",
      phase: "Bound",
      owners: [{ name: "web", uid: "u1", since: SINCE }],
      version: "7",
    });
  });

  it("waits as long as its owner has not shown up", () => {
    expect(step(pending(owner()), NOTHING)).toEqual({ action: "none" });
  });

  it("is deleted at its deadline when nobody lists the address and nobody ever had it", () => {
    expect(step(pending(owner()), NOTHING, { deadlineOver: true })).toMatchObject({ action: "delete" });
  });

  it("drops who was waited for long enough, however often others are admitted meanwhile", () => {
    const [first, second] = [owner(), owner({ name: "db" })];
    const both = pending(first, second);
    expect(settled(both, [])).toBe(true);
    expect(settled(both, [], [first])).toBe(false);
    expect(step(both, NOTHING, { overdue: new Set([first]) })).toMatchObject({
      action: "update",
      phase: "Pending",
      owners: [second],
      deadline: SINCE,
    });
    expect(step(both, seen(sighting()), { overdue: new Set([first]) })).toMatchObject({
      phase: "Bound",
      owners: [{ uid: "u1" }, second],
      deadline: SINCE,
    });
  });

  it("goes on resting at its deadline when it was taken over from a rest that is not over", () => {
    const until = new Date(NOW + 30_000).toISOString();
    const taken = claim({ phase: "Pending", owners: [owner()], deadline: SINCE, until });
    expect(step(taken, NOTHING, { deadlineOver: true })).toMatchObject({
      action: "update",
      phase: "Quarantined",
      until,
    });
  });

  it("is not bound by the object that it already knows, when it was admitted for the next one of that name", () => {
    const both = pending(owner({ uid: "old" }), owner());
    expect(step(both, seen(sighting({ uid: "old" })))).toMatchObject({ owners: [{ uid: "old" }, { name: "web" }] });
    expect(step(both, NOTHING)).toMatchObject({ action: "update", phase: "Pending", owners: [{ name: "web" }] });
    expect(step(both, seen(sighting({ uid: "new" })))).toMatchObject({ phase: "Bound", owners: [{ uid: "new" }] });
  });

  it("binds a generated name to the object that has the prefix and the address", () => {
    const { name: _, ...unnamed } = owner();
    const generated = pending({ ...unnamed, generateName: "web-" });
    expect(step(generated, seen(sighting({ name: "other" })))).toMatchObject({
      owners: [{ generateName: "web-" }, { name: "other" }],
      deadline: SINCE,
    });
    const next = step(generated, seen(sighting({ name: "web-x7k2p" })));
    expect(next).toMatchObject({ phase: "Bound", owners: [{ name: "web-x7k2p", uid: "u1" }] });
    expect(next).not.toHaveProperty("owners.0.generateName");
  });

  it("binds an object to the owner of its very name, and goes on waiting for the one with its prefix", () => {
    const { name: _, ...unnamed } = owner();
    const both = pending({ ...unnamed, generateName: "we" }, owner());
    expect(step(both, seen(sighting()))).toMatchObject({
      phase: "Bound",
      owners: [{ generateName: "we" }, { name: "web", uid: "u1" }],
      deadline: SINCE,
    });
  });

  it("goes on waiting where an object that was not admitted has the name and the address for a moment", () => {
    const stranger = sighting({ confirms: false });
    const both = step(pending(owner()), seen(stranger));
    expect(both).toMatchObject({ phase: "Bound", owners: [{ name: "web" }, { uid: "u1" }], deadline: SINCE });
    expect(both).not.toHaveProperty("owners.0.uid");
    const waiting = claim({ phase: "Bound", owners: [owner(), owner({ uid: "u1" })], deadline: SINCE });
    expect(step(waiting, seen(stranger))).toEqual({ action: "none" });
    expect(settled(waiting, [stranger])).toBe(true);
    expect(step(waiting, NOTHING)).toMatchObject({ phase: "Pending", owners: [{ name: "web" }], deadline: SINCE });
    expect(step(waiting, seen(stranger), { deadlineOver: true })).toMatchObject({ owners: [{ uid: "u1" }] });
  });

  it("gives an object to the longest prefix, which fits least others", () => {
    const { name: _, ...unnamed } = owner();
    const both = pending({ ...unnamed, generateName: "w" }, { ...unnamed, generateName: "web-" });
    expect(step(both, seen(sighting({ name: "web-x7k2p" })))).toMatchObject({
      owners: [{ generateName: "w" }, { name: "web-x7k2p", uid: "u1" }],
    });
  });

  it("counts on more creations than it lists where it lists as many as it may", () => {
    const all = Array.from({ length: MAX_CREATIONS_OF_ONE_NAME }, () => owner());
    expect(step(pending(...all), seen(sighting()))).toMatchObject({ owners: [...all, { uid: "u1" }], deadline: SINCE });
  });

  it("keeps an admitted update waiting while its object lives, and drops it once the object is gone", () => {
    const updated = pending(owner({ uid: "u1" }));
    expect(step(updated, { holders: [], existing: [sighting()] })).toEqual({ action: "none" });
    expect(step(updated, NOTHING)).toMatchObject({ phase: "Quarantined" });
  });
});

describe("a claim that has an owner and waits for another", () => {
  const { uid: _, ...unseen } = owner();
  const waiting = (...owners: ClaimOwner[]): MACClaim => claim({ phase: "Bound", owners, deadline: SINCE });

  it("is bound as soon as one of two creations of a name is seen, and waits for the other", () => {
    expect(step(pending(unseen, unseen), seen(sighting()))).toMatchObject({
      action: "update",
      phase: "Bound",
      owners: [{ uid: "u1" }, { name: "web" }],
      deadline: SINCE,
    });
    expect(step(waiting(owner({ uid: "u1" }), unseen), seen(sighting()))).toEqual({ action: "none" });
  });

  it("is pending again when the one that was seen is gone, and is not given to others", () => {
    expect(step(waiting(owner({ uid: "u1" }), unseen), NOTHING)).toMatchObject({
      action: "update",
      phase: "Pending",
      owners: [{ name: "web" }],
      deadline: SINCE,
    });
  });

  it("drops at the deadline who never came, and waits no more", () => {
    const next = step(waiting(owner({ uid: "u1" }), unseen), seen(sighting()), { deadlineOver: true });
    expect(next).toMatchObject({ phase: "Bound", owners: [{ uid: "u1" }] });
    expect(next).not.toHaveProperty("deadline");
    const known = step(waiting(owner({ uid: "u1" })), seen(sighting()), { deadlineOver: true });
    expect(known).toMatchObject({ action: "update", phase: "Bound" });
    expect(known).not.toHaveProperty("deadline");
  });

  it("needs no live read while the cache shows the same, and one when it does not", () => {
    const both = waiting(owner({ uid: "u1" }), unseen);
    expect(settled(both, [sighting()])).toBe(true);
    expect(settled(both, [])).toBe(false);
    expect(settled(both, [sighting({ uid: "u2" })])).toBe(false);
    expect(settled(waiting(owner({ uid: "u1" })), [sighting()])).toBe(false);
  });
});

describe("a bound claim", () => {
  it("rests when live reads find nobody who lists the address", () => {
    expect(step(bound(owner({ uid: "u1" })), NOTHING)).toMatchObject({
      action: "update",
      phase: "Quarantined",
      owners: [],
      until: new Date(NOW + QUARANTINE_MS).toISOString(),
      version: "7",
    });
  });

  it("is deleted at once where addresses need no rest", () => {
    expect(step(bound(owner({ uid: "u1" })), NOTHING, { quarantineMs: 0 })).toMatchObject({ action: "delete" });
  });

  it("loses the one of two owners that is gone, and no other", () => {
    const two = bound(owner({ uid: "u1" }), owner({ name: "db", uid: "u2" }));
    expect(step(two, seen(sighting({ name: "db", uid: "u2" })))).toMatchObject({
      phase: "Bound",
      owners: [{ name: "db" }],
    });
  });

  it("moves to the object that has taken the name of its owner", () => {
    expect(step(bound(owner({ uid: "u1" })), seen(sighting({ uid: "u2" })))).toMatchObject({
      phase: "Bound",
      owners: [{ name: "web", uid: "u2" }],
    });
  });

  it("gets every object that lists the address as an owner, admitted or not", () => {
    const next = step(bound(owner({ uid: "u1" })), seen(sighting(), sighting({ name: "rogue", uid: "u3" })));
    expect(next).toMatchObject({ phase: "Bound", owners: [{ name: "web" }, { name: "rogue" }] });
  });

  it("lists no more owners than it can, and one more when there is room again", () => {
    const named = (index: number) => ({ name: `vm-${index}`, uid: `u${index}` });
    const holders = Array.from({ length: MAX_CLAIM_OWNERS + 1 }, (_, index) => sighting(named(index)));
    const all = bound(
      ...holders.slice(0, -1).map(({ name, uid }) => owner({ ...(name && { name }), ...(uid && { uid }) })),
    );
    expect(step(all, seen(...holders))).toEqual({ action: "none" });
    expect(step(all, seen(...holders.slice(1)))).toMatchObject({ owners: { length: MAX_CLAIM_OWNERS } });
    const adoptAs = { pool: "default", origin: "observed" } as const;
    expect(step(undefined, seen(...holders), { adoptAs })).toMatchObject({ owners: { length: MAX_CLAIM_OWNERS } });
  });

  it("is held by a launcher pod whose VMI is gone, for whoever had that name", () => {
    const launcher = sighting({ uid: undefined, interface: "pod1", adoptable: false });
    expect(step(bound(owner({ uid: "u1" })), seen(launcher))).toEqual({ action: "none" });
    const stranger = sighting({ name: "db", uid: undefined, adoptable: false });
    expect(step(bound(owner({ uid: "u1" })), seen(stranger))).toMatchObject({ phase: "Quarantined" });
  });

  it("follows the interface that has the address", () => {
    expect(step(bound(owner({ uid: "u1" })), seen(sighting({ interface: "b" })))).toMatchObject({
      owners: [{ interface: "b" }],
    });
  });
});

describe("an address that rests", () => {
  const resting = claim({ phase: "Quarantined", owners: [], until: SINCE });

  it("is freed when its rest is over", () => {
    expect(step(resting, NOTHING)).toEqual({ action: "none" });
    expect(step(resting, NOTHING, { restOver: true })).toMatchObject({ action: "delete" });
  });

  it("is bound again when somebody turns out to have it", () => {
    expect(step(resting, seen(sighting()), { restOver: true })).toMatchObject({
      phase: "Bound",
      owners: [{ uid: "u1" }],
    });
  });
});

describe("an address without a claim", () => {
  it("gets one where an object has it that counts", () => {
    const adoptAs = { pool: "default", origin: "observed" } as const;
    expect(step(undefined, seen(sighting()), { adoptAs })).toMatchObject({ action: "create", phase: "Bound" });
    expect(step(undefined, NOTHING, { adoptAs })).toEqual({ action: "none" });
    expect(step(undefined, seen(sighting()))).toEqual({ action: "none" });
  });
});

describe("live reads", () => {
  it("are not needed where the cache agrees with the claim", () => {
    expect(settled(bound(owner({ uid: "u1" })), [sighting()])).toBe(true);
    expect(settled(bound(owner({ uid: "u1" })), [])).toBe(false);
    expect(settled(bound(owner({ uid: "u1" })), [sighting({ uid: "u2" })])).toBe(false);
    expect(settled(pending(owner()), [])).toBe(true);
    expect(settled(pending(owner()), [sighting()])).toBe(false);
    expect(settled(undefined, [])).toBe(true);
    expect(settled(undefined, [sighting()])).toBe(false);
  });
});
