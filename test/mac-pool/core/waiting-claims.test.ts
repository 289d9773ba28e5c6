import { describe, expect, it } from "vitest";
import type { ClaimOwner, MACClaim } from "../../../src/api/mac-claim.ts";
import { MAX_CREATIONS_OF_ONE_NAME } from "../../../src/mac-pool/core/limits.ts";
import {
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

const waiting = (...owners: ClaimOwner[]): MACClaim => claim({ phase: "Bound", owners, deadline: SINCE });

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

  it("rests anew at its deadline when it was taken over from a rest, whatever another clock says about that", () => {
    const until = new Date(NOW + 30_000).toISOString();
    const taken = claim({ phase: "Pending", owners: [owner()], deadline: SINCE, until });
    expect(step(taken, NOTHING, { deadlineOver: true })).toMatchObject({
      action: "update",
      phase: "Quarantined",
      until: new Date(NOW + QUARANTINE_MS).toISOString(),
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

  it("rests as soon as the object that it was made for has come and gone", () => {
    const created = [{ kind: "VirtualMachine", namespace: "default", name: "web", uid: "u1" }] as const;
    expect(settled(pending(owner()), [], [], created)).toBe(false);
    expect(step(pending(owner()), NOTHING, { created })).toMatchObject({
      action: "update",
      phase: "Quarantined",
      owners: [],
      version: "7",
    });
    const { name: _, ...unnamed } = owner();
    const generated = pending({ ...unnamed, generateName: "we" });
    expect(step(generated, NOTHING, { created })).toMatchObject({ phase: "Quarantined" });
    const other = [{ ...created[0], name: "db" }];
    expect(settled(pending(owner()), [], [], other)).toBe(true);
    expect(step(pending(owner()), NOTHING, { created: other })).toEqual({ action: "none" });
  });

  it("waits for as many creations as before but those that have come, and gone or not", () => {
    const created = [{ kind: "VirtualMachine", namespace: "default", name: "web", uid: "u1" }] as const;
    const two = pending(owner(), owner());
    expect(step(two, NOTHING, { created })).toMatchObject({ phase: "Pending", owners: [{ name: "web" }] });
    expect(step(two, NOTHING, { created })).not.toHaveProperty("owners.0.uid");
    const bound = step(two, seen(sighting()), { created });
    expect(bound).toMatchObject({ phase: "Bound", owners: [{ uid: "u1" }, { name: "web" }], deadline: SINCE });
    expect(bound).not.toHaveProperty("owners.1.uid");
    const [late, next] = [owner(), owner()];
    expect(step(pending(next, late), NOTHING, { created, overdue: new Set([late]) })).toMatchObject({
      phase: "Pending",
      owners: [{ name: "web" }],
    });
    const all = Array.from({ length: MAX_CREATIONS_OF_ONE_NAME }, () => owner());
    expect(step(pending(...all), NOTHING, { created })).toEqual({ action: "none" });
  });

  it("is kept by a launcher pod of the object that has come and gone", () => {
    const created = [{ kind: "VirtualMachine", namespace: "default", name: "web", uid: "u1" }] as const;
    const launcher = sighting({ uid: undefined, interface: "pod1", adoptable: false, confirms: false });
    expect(step(pending(owner()), seen(launcher), { created })).toMatchObject({
      phase: "Bound",
      owners: [{ name: "web", uid: "u1" }],
    });
  });

  it("keeps an admitted update waiting while its object lives, and drops it once the object is gone", () => {
    const updated = pending(owner({ uid: "u1" }));
    expect(step(updated, { holders: [], existing: [sighting()] })).toEqual({ action: "none" });
    expect(step(updated, NOTHING)).toMatchObject({ phase: "Quarantined" });
  });

  it("keeps an admitted update waiting while only what was made of its object has the address", () => {
    const updated = waiting(owner({ uid: "u1" }));
    const instance = seen(sighting({ confirms: false }));
    expect(step(updated, instance)).toEqual({ action: "none" });
    expect(settled(updated, [sighting({ confirms: false })])).toBe(true);
    const over = step(updated, instance, { deadlineOver: true });
    expect(over).toMatchObject({ phase: "Bound", owners: [{ uid: "u1" }] });
    expect(over).not.toHaveProperty("deadline");
    const orphaned = step(updated, { ...instance, existing: [] });
    expect(orphaned).toMatchObject({ phase: "Bound", owners: [{ uid: "u1" }] });
    expect(orphaned).not.toHaveProperty("deadline");
  });
});

describe("a claim that has an owner and waits for another", () => {
  it("knows the instance of a receiver as a receiver's, though the live read of its VM was too early to find it", () => {
    const admitted = owner({ name: "target", receiver: true });
    const instance = sighting({ name: "target", uid: "u2", confirms: false });
    const next = step(waiting(owner({ uid: "u1" }), admitted), seen(sighting({ uid: "u1" }), instance));
    expect(next).toMatchObject({
      owners: [{ uid: "u1" }, admitted, { name: "target", uid: "u2", receiver: true }],
    });
  });

  const { uid: _, ...unseen } = owner();

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
