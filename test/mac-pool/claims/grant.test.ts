import { describe, expect, it } from "vitest";
import { parseMac } from "../../../src/api/mac.ts";
import { type MACClaim, MAX_CLAIM_OWNERS } from "../../../src/api/mac-claim.ts";
import type { ConflictPolicy } from "../../../src/api/mac-pool.ts";
import { decideGrant, type GrantRequest } from "../../../src/mac-pool/claims/grant.ts";
import { allocatedTo, claim, NOW, owner, SINCE } from "./lifecycle-fixture.ts";

const MAC = parseMac("02:00:00:00:00:01") ?? (0 as never);

function ask(more: Partial<GrantRequest["requester"]>, options: Partial<GrantRequest> = {}): GrantRequest {
  const requester = { kind: "VirtualMachine", namespace: "default", name: "web", interface: "a", ...more } as const;
  return {
    mac: MAC,
    requester,
    policy: "Deny",
    policyIn: () => undefined,
    field: "macAddress",
    pendingMs: 120_000,
    objectsListing: [],
    had: false,
    isAwaited: false,
    ...options,
  };
}

function decide(existing: MACClaim, request: GrantRequest) {
  const decision = decideGrant(existing, request, NOW);
  if (!decision.ok) return { refused: decision.refusal.message, code: decision.refusal.code };
  const { status, metadata } = decision.claim;
  return { ...status, version: metadata.resourceVersion, warning: decision.warning?.message };
}

describe("a request for an address that has a claim", () => {
  it("is refused with the owner's name where somebody else has it", () => {
    expect(decide(allocatedTo(owner()), ask({ name: "thief", interface: "nic" }))).toEqual({
      code: "MACPOOL_CONFLICT",
      refused:
        'MAC 02:00:00:00:00:01 of interface "nic" is in use by VirtualMachine default/web (a). ' +
        "Leave macAddress out to get an address from the pool. To use this one, first remove it from the other VM.",
    });
  });

  it("is refused with the time to wait where somebody else was given it and has not shown up", () => {
    expect(decide(allocatedTo(owner()), ask({ name: "thief", interface: "nic" }, { isAwaited: true }))).toMatchObject({
      refused:
        'MAC 02:00:00:00:00:01 of interface "nic" is in use by VirtualMachine default/web (a), which was admitted a short while ago and may still be created. ' +
        "Leave macAddress out to get an address from the pool. To use this one, try again in two minutes: it is free then if that object was not created.",
    });
  });

  it("says how long to wait where requests live longer", () => {
    const asked = ask({ name: "thief" }, { pendingMs: 300_000, isAwaited: true });
    expect(decide(allocatedTo(owner()), asked).refused).toContain("try again in 5 minutes");
  });

  it("is a write under the version that was read also where the same object has it already", () => {
    expect(decide(allocatedTo(owner()), ask({ uid: "u1" }, { had: true }))).toMatchObject({
      phase: "Allocated",
      owners: [{ name: "web", since: "2026-01-01T00:00:00.000Z" }],
      until: "2026-01-01T00:02:00.000Z",
      version: "7",
    });
  });

  it("is the owner's who has its name, whether the object is to be created or has another UID", () => {
    const now = [{ name: "web", since: "2026-01-01T00:00:00.000Z" }];
    expect(decide(allocatedTo(owner({ uid: "u1" })), ask({}))).toMatchObject({ owners: now });
    expect(decide(allocatedTo(owner({ uid: "u1" })), ask({ uid: "u2" }))).toMatchObject({ owners: now });
    const twins = claim({ phase: "Pending", owners: [owner({ uid: "u1" }), owner()], deadline: SINCE });
    expect(decide(twins, ask({}))).toHaveProperty("owners.length", 1);
  });

  it("is later than any other, whatever the clock of its replica says", () => {
    const ahead = owner({ since: "2026-01-01T00:00:59.000Z" });
    expect(decide(allocatedTo(ahead), ask({}))).toMatchObject({ owners: [{ since: "2026-01-01T00:00:59.001Z" }] });
  });

  it("is refused to who creates an object of an owner's name again while another has it, as to anybody", () => {
    const shared = allocatedTo(owner(), owner({ name: "twin" }));
    const answer = decide(shared, ask({ name: "twin" }));
    expect(answer).toMatchObject({ code: "MACPOOL_CONFLICT", refused: expect.stringContaining("default/web (a)") });
    expect(answer).not.toMatchObject({ refused: expect.stringContaining("default/twin") });
    expect(decide(shared, ask({ name: "twin", receiver: true }))).toHaveProperty("owners.length", 2);
    expect(decide(shared, ask({ kind: "Pod", name: "twin" }, { policy: "DenyRunning" }))).toHaveProperty("code");
  });

  it("is granted to the object that lists it beside another, whatever the policy is by now", () => {
    const shared = allocatedTo(owner(), owner({ name: "twin" }));
    expect(decide(shared, ask({ name: "twin", uid: "u2" }, { had: true }))).toMatchObject({
      owners: [{ name: "web" }, { name: "twin" }],
      warning: expect.stringContaining("also in use by VirtualMachine default/web (a)"),
    });
    expect(decide(shared, ask({ name: "twin", uid: "u2" }))).toHaveProperty("code", "MACPOOL_CONFLICT");
  });

  it("is granted to the object that lists it and that its claim knows by its prefix", () => {
    const { name: _, ...unnamed } = owner();
    const generated = allocatedTo({ ...unnamed, generateName: "web-" });
    const named = decide(generated, ask({ name: "web-x", uid: "u1" }, { had: true }));
    expect(named).toMatchObject({ owners: [{ name: "web-x" }] });
    expect(decide(generated, ask({ name: "web-x", uid: "u1" }))).toHaveProperty("code", "MACPOOL_CONFLICT");
  });

  it("is warned about again when the same request is asked again", () => {
    for (const policy of ["Warn", "DenyRunning"] as const) {
      const first = decideGrant(allocatedTo(owner()), ask({ name: "twin" }, { policy }), NOW);
      if (!first.ok) throw new Error(first.refusal.message);
      const second = decideGrant(first.claim, ask({ name: "twin" }, { policy }), NOW);
      expect(second).toMatchObject({ ok: true, warning: { message: first.warning?.message } });
      expect(first.warning?.message).toContain("default/web");
    }
  });

  it("takes the place of one prefix, the longest: the others are admissions that may be under way", () => {
    const { name: _, ...unnamed } = owner();
    const prefixes = (...texts: string[]) =>
      allocatedTo(...texts.map((generateName) => ({ ...unnamed, generateName })));
    const known = (existing: MACClaim) => {
      const decision = decide(existing, ask({ name: "web-x7k2p", uid: "u1" }, { had: true }));
      return "owners" in decision ? decision.owners?.map(({ name, generateName }) => name ?? generateName) : decision;
    };
    expect(known(prefixes("web-", "web-"))).toEqual(["web-x7k2p", "web-"]);
    expect(known(prefixes("web-", "web-x"))).toEqual(["web-", "web-x7k2p"]);
    expect(known(allocatedTo(owner({ name: "web-x7k2p" }), { ...unnamed, generateName: "web-" }))).toEqual([
      "web-x7k2p",
      "web-",
    ]);
  });

  it("leaves the prefix to the object that was admitted with it and may still come", () => {
    const { name: _, ...unnamed } = owner();
    const generated = allocatedTo({ ...unnamed, generateName: "web-" });
    const asked = ask({ name: "web-x", uid: "u1" }, { had: true, isAwaited: true });
    const first = decideGrant(generated, asked, NOW);
    if (!first.ok) throw new Error(first.refusal.message);
    for (const existing of [generated, first.claim]) {
      expect(decide(existing, asked)).toMatchObject({ owners: [{ generateName: "web-" }, { name: "web-x" }] });
    }
  });

  it("is judged against the other objects of its prefix: each has an entry of its own, or none", () => {
    const { name: _, ...unnamed } = owner();
    const prefix = { ...unnamed, generateName: "web-", receiver: true };
    const observed = {
      kind: "VirtualMachine",
      namespace: "default",
      name: "web-b",
      interface: "a",
      countsAsOwner: true,
    } as const;
    const starts = ask({ name: "web-a", uid: "u1" }, { had: true, objectsListing: [observed] });
    for (const existing of [allocatedTo(prefix, prefix), allocatedTo(prefix)]) {
      expect(decide(existing, starts)).toMatchObject({ code: "MACPOOL_CONFLICT" });
    }
    expect(decide(allocatedTo(prefix), { ...starts, objectsListing: [] })).toMatchObject({
      owners: [{ name: "web-a" }],
    });
  });

  it("is never from the same object where both have a name prefix only", () => {
    const { name: _, ...unnamed } = owner();
    const generated = allocatedTo({ ...unnamed, generateName: "web-" });
    const refused = decide(generated, ask({ name: undefined, generateName: "web-" }));
    expect(refused).toMatchObject({ refused: expect.stringContaining("VirtualMachine default/web-* (a)") });
  });

  it("takes over an address that rests", () => {
    const quarantined = claim({ phase: "Quarantined", owners: [], until: "2026-01-01T00:00:30.000Z" });
    expect(decide(quarantined, ask({ name: "next" }))).toMatchObject({
      phase: "Allocated",
      owners: [{ name: "next" }],
    });
  });

  it("is granted with a warning where the pool's policy is Warn", () => {
    const granted = decide(allocatedTo(owner()), ask({ name: "twin" }, { policy: "Warn" }));
    expect(granted).toMatchObject({
      owners: [{ name: "web" }, { name: "twin" }],
      warning: expect.stringContaining("also in use by"),
    });
  });

  it("is refused where as many share the address as a claim can list, but not to one of them", () => {
    const others = Array.from({ length: MAX_CLAIM_OWNERS }, (_, index) => owner({ name: `vm-${index}` }));
    const refused = decide(allocatedTo(...others), ask({ name: "one-more", interface: "nic" }, { policy: "Warn" }));
    expect(refused).toEqual({
      code: "MACPOOL_SHARED_TOO_OFTEN",
      refused:
        'MAC 02:00:00:00:00:01 of interface "nic" is already shared by 64 objects, which is the maximum (objects that are being ' +
        "created count). Leave macAddress out to get an address from the pool, or delete some of the objects that have this one.",
    });
    expect(decide(allocatedTo(...others), ask({ name: "vm-7", uid: "u7" }, { had: true }))).toHaveProperty(
      "owners.length",
      MAX_CLAIM_OWNERS,
    );
  });

  it("is granted to a VM, for as long as it does not run, where the policy is DenyRunning", () => {
    const granted = decide(allocatedTo(owner()), ask({ name: "twin" }, { policy: "DenyRunning" }));
    expect(granted).toMatchObject({
      owners: [{ name: "web" }, { name: "twin" }],
      warning: expect.stringContaining("one of them can run at a time"),
    });
  });

  it("is refused to what runs as soon as it exists where the policy is DenyRunning", () => {
    for (const kind of ["VirtualMachineInstance", "Pod"] as const) {
      const refused = decide(allocatedTo(owner()), ask({ kind, name: "twin" }, { policy: "DenyRunning" }));
      expect(refused).toMatchObject({ code: "MACPOOL_CONFLICT" });
    }
  });

  it("is granted to a VM that waits to receive the owner by migration", () => {
    const granted = decide(allocatedTo(owner()), ask({ namespace: "other", receiver: true }));
    expect(granted).toMatchObject({
      owners: [{ namespace: "default" }, { namespace: "other", receiver: true }],
      warning: undefined,
    });
  });

  it("is refused to a VM that has it as the receiver of a migration and waits no longer, while another has it", () => {
    const shared = allocatedTo(owner(), owner({ namespace: "other", receiver: true }));
    const asked = ask({ namespace: "other", uid: "u2" }, { had: true });
    expect(decide(shared, asked)).toMatchObject({
      code: "MACPOOL_CONFLICT",
      refused: expect.stringContaining("is in use by VirtualMachine default/web (a)"),
    });
    const alone = decide(allocatedTo(owner({ namespace: "other", receiver: true })), asked);
    expect(alone).toMatchObject({ owners: [{ namespace: "other" }] });
    expect(alone).not.toHaveProperty("owners.0.receiver");
  });

  it("is decided by the strictest policy: that of the pool of the one that asks, or of the owner's", () => {
    const policyIn = (): ConflictPolicy => "Deny";
    expect(decide(allocatedTo(owner()), ask({ namespace: "lax" }, { policy: "Warn", policyIn }))).toHaveProperty(
      "code",
    );
    const running = decide(
      allocatedTo(owner()),
      ask({ namespace: "lax" }, { policy: "Warn", policyIn: () => "DenyRunning" }),
    );
    expect(running).toMatchObject({ warning: expect.stringContaining("one of them can run at a time") });
  });

  it("tells a pod's author about the pod's field", () => {
    const pods = allocatedTo(owner({ kind: "Pod", interface: "net1" }));
    expect(decide(pods, ask({ kind: "Pod", name: "other" }, { field: "mac" }))).toMatchObject({
      refused: expect.stringContaining(
        "Leave mac out to get an address from the pool. To use this one, delete the other pod first.",
      ),
    });
  });
});
