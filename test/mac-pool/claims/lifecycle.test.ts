import { describe, expect, it } from "vitest";
import { type MACClaim, MAX_CLAIM_OWNERS } from "../../../src/api/mac-claim.ts";
import { isSettled } from "../../../src/mac-pool/claims/lifecycle.ts";
import { allocatedTo, claim, NOW, observed, owner, QUARANTINE_MS, SINCE, step } from "./lifecycle-fixture.ts";

const NONE = { action: "none" };
const awaited = { isAwaited: true } as const;
const { name: _, ...unnamed } = owner();
const generated = (generateName: string) => ({ ...unnamed, generateName });

describe("a claim whose owner lists the address", () => {
  it("is not written, also where the object has another UID, or its prefix has been completed", () => {
    expect(step(allocatedTo(owner()), [observed()])).toEqual(NONE);
    expect(step(allocatedTo(owner({ uid: "u0" })), [observed()])).toEqual(NONE);
    expect(step(allocatedTo(generated("web-")), [observed({ name: "web-x7" })])).toEqual(NONE);
  });

  it("is not written where version 0.1 has written it, whatever its phase was then", () => {
    for (const former of [{ phase: "Pending", deadline: SINCE } as const, { phase: "Bound" } as const]) {
      expect(step(claim({ ...former, owners: [owner({ uid: "u1" })] }), [observed()])).toEqual(NONE);
    }
  });

  it("follows the interface that has the address", () => {
    expect(step(allocatedTo(owner()), [observed({ interface: "b" })])).toMatchObject({
      phase: "Allocated",
      owners: [{ interface: "b", since: SINCE }],
      version: "7",
    });
  });

  it("is kept by a launcher pod whose VMI is gone, for whoever had that name", () => {
    const launcher = observed({ uid: undefined, interface: "pod1", countsAsOwner: false });
    expect(step(allocatedTo(owner()), [launcher])).toEqual(NONE);
    const stranger = observed({ name: "db", uid: undefined, countsAsOwner: false });
    expect(step(allocatedTo(owner()), [stranger])).toMatchObject({ phase: "Quarantined" });
  });

  it("drops who came in as the receiver of a migration only once it waits no longer and is alone", () => {
    const receiver = owner({ receiver: true });
    expect(step(allocatedTo(receiver), [observed({ receiver: true })])).toEqual(NONE);
    expect(step(allocatedTo(receiver), [observed({ receiver: undefined })])).toEqual(NONE);
    const alone = step(allocatedTo(receiver), [observed({ receiver: false })]);
    expect(alone).toMatchObject({ action: "update" });
    expect(alone).not.toHaveProperty("owners.0.receiver");
    const both = [observed({ receiver: false }), observed({ name: "db", receiver: false })];
    expect(step(allocatedTo(receiver, owner({ name: "db" })), both)).toEqual(NONE);
  });
});

describe("a claim whose owner does not list the address", () => {
  it("waits as long as its object may still be stored", () => {
    expect(step(allocatedTo(owner()), [], awaited)).toEqual(NONE);
    expect(step(allocatedTo(), [], awaited)).toEqual(NONE);
    const moves = allocatedTo(owner({ interface: "b", network: "multus other" }));
    expect(step(moves, [observed({ network: "multus one" })], awaited)).toEqual(NONE);
    expect(step(moves, [observed({ network: "multus one" })])).toMatchObject({
      owners: [{ interface: "a", network: "multus one" }],
    });
  });

  it("rests after that, under the version that was read", () => {
    expect(step(allocatedTo(owner()), [])).toMatchObject({
      action: "update",
      phase: "Quarantined",
      owners: [],
      until: new Date(NOW + QUARANTINE_MS).toISOString(),
      version: "7",
    });
  });

  it("is deleted at once where nobody ever had the address, and where addresses need no rest", () => {
    expect(step(allocatedTo(owner()), [], { wasNeverListed: true })).toMatchObject({ action: "delete", isLeak: true });
    expect(step(allocatedTo(owner()), [], { quarantineMs: 0 })).toMatchObject({ action: "delete", isLeak: false });
  });

  it("moves to the object that lists it under another name", () => {
    expect(step(allocatedTo(owner()), [observed({ name: "db" })])).toMatchObject({ owners: [{ name: "db" }] });
    expect(step(allocatedTo(owner()), [observed({ name: "db" })], awaited)).toMatchObject({
      owners: [{ name: "web" }, { name: "db" }],
    });
  });
});

it.each<[string, MACClaim, string[], string]>([
  ["the first owner", allocatedTo(owner(), owner({ name: "db" })), ["web", "rogue"], "automatic"],
  ["the one that has come for its prefix", allocatedTo(generated("web-")), ["web-x7", "rogue"], "automatic"],
  ["nobody once that one is gone", allocatedTo(owner(), owner({ name: "db" })), ["db"], "explicit"],
  ["nobody in quarantine", claim({ phase: "Quarantined", owners: [] }), ["rogue"], "explicit"],
])("a claim that the pool made is automatic for %s", (_, existing, names, origin) => {
  const listing = names.map((name) => observed({ name }));
  expect(step(existing, listing)).toMatchObject({ action: "update", origin });
});

describe("a claim of several owners", () => {
  const two = allocatedTo(owner(), owner({ name: "db" }));

  it("loses the one that is gone, and no other, once nobody may come any more", () => {
    expect(step(two, [observed({ name: "db" })], awaited)).toEqual(NONE);
    expect(step(two, [observed({ name: "db" })])).toMatchObject({ phase: "Allocated", owners: [{ name: "db" }] });
  });

  it("gets every object that lists the address as an owner, admitted or not", () => {
    expect(step(allocatedTo(owner()), [observed(), observed({ name: "rogue" })])).toMatchObject({
      owners: [{ name: "web" }, { name: "rogue" }],
    });
  });

  it("lists no more owners than it can, and one more when there is room again", () => {
    const observedOwners = Array.from({ length: MAX_CLAIM_OWNERS + 1 }, (_, index) =>
      observed({ name: `vm-${index}` }),
    );
    const all = allocatedTo(...observedOwners.slice(0, -1).map(({ name = "" }) => owner({ name })));
    expect(step(all, observedOwners)).toEqual(NONE);
    expect(step(all, observedOwners.slice(1))).toMatchObject({ owners: { length: MAX_CLAIM_OWNERS } });
    const adoptAs = { pool: "default", origin: "observed" } as const;
    expect(step(undefined, observedOwners, { adoptAs })).toMatchObject({ owners: { length: MAX_CLAIM_OWNERS } });
  });

  it("takes two entries of one name, which version 0.1 could write, for one owner", () => {
    const twins = claim({ phase: "Bound", owners: [owner({ uid: "u1" }), owner()], deadline: SINCE });
    expect(step(twins, [observed()], awaited)).toEqual(NONE);
    expect(step(twins, [observed()])).toHaveProperty("owners.length", 1);
  });

  it("gives an object to the owner of its very name, else to the longest prefix", () => {
    const claimed = allocatedTo(generated("w"), generated("web-"), owner({ name: "web-x" }));
    expect(step(claimed, [observed({ name: "web-x" })])).toMatchObject({ owners: [{ name: "web-x" }] });
    const longest = step(claimed, [observed({ name: "web-x" }), observed({ name: "web-y" })]);
    expect(longest).toMatchObject({ owners: [{ name: "web-y", generateName: "web-" }, { name: "web-x" }] });
  });

  it("keeps a prefix beside the object that may have been meant while another may come", () => {
    const claimed = allocatedTo(generated("web-"));
    const observedOwners = [observed({ name: "web-x" }), observed({ name: "db" })];
    expect(step(claimed, observedOwners, awaited)).toMatchObject({
      owners: [{ generateName: "web-" }, { name: "db" }, { name: "web-x" }],
    });
    expect(step(claimed, observedOwners)).toMatchObject({ owners: [{ name: "web-x" }, { name: "db" }] });
  });
});

describe("an address that rests", () => {
  const quarantined = claim({ phase: "Quarantined", owners: [], until: SINCE });

  it("is freed when its rest is over and nothing has it", () => {
    expect(step(quarantined, [])).toEqual(NONE);
    expect(step(quarantined, [], { isQuarantineOver: true })).toMatchObject({ action: "delete", isLeak: false });
    const launcher = observed({ uid: undefined, countsAsOwner: false });
    expect(step(quarantined, [launcher], { isQuarantineOver: true })).toEqual(NONE);
  });

  it("is allocated again when somebody turns out to have it", () => {
    expect(step(quarantined, [observed()], { isQuarantineOver: true })).toMatchObject({
      phase: "Allocated",
      owners: [{ name: "web" }],
    });
  });
});

describe("an address without a claim", () => {
  it("gets one where an object has it that counts", () => {
    const adoptAs = { pool: "default", origin: "observed" } as const;
    expect(step(undefined, [observed()], { adoptAs })).toMatchObject({ action: "create", phase: "Allocated" });
    expect(step(undefined, [], { adoptAs })).toEqual(NONE);
    expect(step(undefined, [observed()])).toEqual(NONE);
  });
});

describe("live reads", () => {
  const settled = (existing: MACClaim, observedOwners: Parameters<typeof isSettled>[1], isAwaited = false) =>
    isSettled(existing, observedOwners, isAwaited);

  it("are not needed where the caches agree with the claim, nor while its object may come", () => {
    expect(settled(allocatedTo(owner()), [observed()])).toBe(true);
    expect(settled(allocatedTo(owner()), [])).toBe(false);
    expect(settled(allocatedTo(owner()), [], true)).toBe(true);
    expect(settled(allocatedTo(owner()), [observed({ name: "db" })], true)).toBe(false);
    expect(settled(allocatedTo(), [])).toBe(false);
    const quarantined = claim({ phase: "Quarantined", owners: [] });
    expect([settled(quarantined, []), settled(quarantined, [observed()])]).toEqual([true, false]);
  });
});
