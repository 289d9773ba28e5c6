import { describe, expect, it } from "vitest";
import { MAX_CLAIM_OWNERS } from "../../../src/api/mac-claim.ts";
import {
  bound,
  claim,
  NOTHING,
  NOW,
  owner,
  pending,
  QUARANTINE_MS,
  SINCE,
  seen,
  settled,
  sighting,
  step,
} from "./lifecycle-bed.ts";

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
