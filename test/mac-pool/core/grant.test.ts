import { describe, expect, it } from "vitest";
import { parseMac } from "../../../src/api/mac.ts";
import { type ClaimOwner, type MACClaim, MAX_CLAIM_OWNERS } from "../../../src/api/mac-claim.ts";
import type { ConflictPolicy } from "../../../src/api/mac-pool.ts";
import { decideGrant, type GrantRequest } from "../../../src/mac-pool/core/grant.ts";
import { claim, owner as knownOwner, NOW, SINCE } from "./lifecycle-bed.ts";

const MAC = parseMac("02:00:00:00:00:01") ?? (0 as never);
const owner = (more: Partial<ClaimOwner> = {}): ClaimOwner => knownOwner({ uid: "u1", ...more });

function ask(more: Partial<GrantRequest["holder"]>, options: Partial<GrantRequest> = {}): GrantRequest {
  const holder = { kind: "VirtualMachine", namespace: "default", name: "web", interface: "a", ...more } as const;
  return {
    mac: MAC,
    holder,
    policy: "Deny",
    policyIn: () => undefined,
    field: "macAddress",
    pendingMs: 120_000,
    listers: [],
    ...options,
  };
}

const bound = (...owners: ClaimOwner[]): MACClaim => claim({ phase: "Bound", owners });

function decide(existing: MACClaim, request: GrantRequest) {
  const decision = decideGrant(existing, request, NOW);
  if (!decision.ok) return { refused: decision.refusal.message, code: decision.refusal.code };
  const { status, metadata } = decision.claim;
  return { ...status, version: metadata.resourceVersion, warning: decision.warning?.message };
}

describe("a request for an address that has a claim", () => {
  it("is refused with the owner's name where somebody else has it", () => {
    expect(decide(bound(owner()), ask({ name: "thief", interface: "nic" }))).toEqual({
      code: "MACPOOL_CONFLICT",
      refused:
        'MAC 02:00:00:00:00:01 of interface "nic" is in use by VirtualMachine default/web (a). ' +
        "Leave macAddress out to get a free address. To use this one, first remove it from the other VM.",
    });
  });

  it("is refused with the time to wait where somebody else was given it and has not shown up", () => {
    const { uid: _, ...unseen } = owner();
    expect(decide(bound(unseen), ask({ name: "thief", interface: "nic" }))).toMatchObject({
      refused:
        'MAC 02:00:00:00:00:01 of interface "nic" is in use by VirtualMachine default/web (a), which was admitted and has not been seen yet. ' +
        "Leave macAddress out to get a free address. To use this one, try again in two minutes: it is free then if that object was not created.",
    });
  });

  it("says how long to wait where requests live longer, and waits as long itself", () => {
    const { uid: _, ...unseen } = owner();
    const pendingMs = 300_000;
    expect(decide(bound(unseen), ask({ name: "thief" }, { pendingMs })).refused).toContain("try again in 5 minutes");
    expect(decide(bound(owner()), ask({ uid: "u1" }, { pendingMs }))).toMatchObject({
      deadline: new Date(NOW + pendingMs).toISOString(),
    });
  });

  it("is a write under the version that was read also where the same object has it already", () => {
    expect(decide(bound(owner()), ask({ uid: "u1" }))).toMatchObject({
      phase: "Bound",
      owners: [{ uid: "u1", since: "2026-01-01T00:00:00.000Z" }],
      version: "7",
    });
  });

  it("adds the object to be created to the one of the same name that was seen", () => {
    const granted = decide(bound(owner()), ask({}));
    expect(granted).toMatchObject({ owners: [{ uid: "u1" }, { name: "web" }] });
    expect(granted).not.toHaveProperty("owners.1.uid");
  });

  it("waits for each creation under one name, up to a limit: it may not be the same once more", () => {
    const { uid: _, ...unseen } = owner();
    const waiting = (...owners: ClaimOwner[]): MACClaim => claim({ phase: "Pending", owners, deadline: SINCE });
    expect(decide(waiting(unseen), ask({}))).toMatchObject({
      owners: [{ name: "web", since: SINCE }, { name: "web" }],
      deadline: "2026-01-01T00:02:00.000Z",
    });
    const admitted = { ...unseen, since: "2026-01-01T00:00:00.000Z" };
    expect(decide(waiting(unseen, unseen, unseen, unseen), ask({}))).toHaveProperty("owners", Array(4).fill(admitted));
  });

  it("is later than any other, whatever the clock of its replica says", () => {
    const { uid: _, ...unseen } = owner();
    const ahead = { ...unseen, since: "2026-01-01T00:00:59.000Z" };
    expect(decide(claim({ phase: "Pending", owners: [ahead] }), ask({}))).toMatchObject({
      owners: [{ since: "2026-01-01T00:00:59.000Z" }, { since: "2026-01-01T00:00:59.001Z" }],
    });
  });

  it("is refused to who creates an object of an owner's name again while another has it, as to anybody", () => {
    const shared = bound(owner(), owner({ name: "twin", uid: "u2" }));
    const answer = decide(shared, ask({ name: "twin" }));
    expect(answer).toMatchObject({ code: "MACPOOL_CONFLICT", refused: expect.stringContaining("default/web (a)") });
    expect(answer).not.toMatchObject({ refused: expect.stringContaining("default/twin") });
    expect(decide(shared, ask({ name: "twin", receiver: true }))).toHaveProperty("owners.length", 3);
    expect(decide(shared, ask({ kind: "Pod", name: "twin" }, { policy: "DenyRunning" }))).toHaveProperty("code");
  });

  it("is granted to the very object that has it beside another, whatever the policy is by now", () => {
    const shared = bound(owner(), owner({ name: "twin", uid: "u2" }));
    expect(decide(shared, ask({ name: "twin", uid: "u2" }))).toMatchObject({
      owners: [{ uid: "u1" }, { uid: "u2" }],
      warning: expect.stringContaining("also in use by VirtualMachine default/web (a)"),
    });
    expect(decide(shared, ask({ name: "twin", uid: "u3" }))).toHaveProperty("code", "MACPOOL_CONFLICT");
  });

  it("is warned about again when the same request is asked again", () => {
    for (const policy of ["Warn", "DenyRunning"] as const) {
      const first = decideGrant(bound(owner()), ask({ name: "twin" }, { policy }), NOW);
      if (!first.ok) throw new Error(first.refusal.message);
      const second = decideGrant(first.claim, ask({ name: "twin" }, { policy }), NOW);
      expect(second).toMatchObject({ ok: true, warning: { message: first.warning?.message } });
      expect(first.warning?.message).toContain("default/web");
    }
  });

  it("names each owner once, however often its creation was asked for", () => {
    const { uid: _, ...unseen } = owner();
    const refused = decide(bound(owner(), unseen, unseen), ask({ name: "thief" }));
    expect(refused).toMatchObject({ refused: expect.stringContaining("in use by VirtualMachine default/web (a). ") });
  });

  it("leaves the claim bound while the one who has it already is known", () => {
    expect(decide(bound(owner()), ask({}))).toMatchObject({
      phase: "Bound",
      deadline: "2026-01-01T00:02:00.000Z",
      owner: "VirtualMachine/default/web",
    });
    expect(decide(bound(owner()), ask({ name: "twin" }, { policy: "Warn" }))).toMatchObject({
      phase: "Bound",
      owner: "VirtualMachine/default/web +1",
    });
  });

  it("is refused where another object of the same name has it, when both are known by UID", () => {
    expect(decide(bound(owner()), ask({ uid: "u2" }))).toMatchObject({ code: "MACPOOL_CONFLICT" });
  });

  it("is never from the same object where both have a name prefix only", () => {
    const { name: _name, uid: _uid, ...unnamed } = owner();
    const generated = claim({ phase: "Pending", owners: [{ ...unnamed, generateName: "web-" }], deadline: SINCE });
    const refused = decide(generated, ask({ name: undefined, generateName: "web-" }));
    expect(refused).toMatchObject({ refused: expect.stringContaining("VirtualMachine default/web-* (a)") });
  });

  it("takes over an address that rests, and remembers how long it had to", () => {
    const resting = claim({ phase: "Quarantined", owners: [], until: "2026-01-01T00:00:30.000Z" });
    expect(decide(resting, ask({ name: "next" }))).toMatchObject({
      phase: "Pending",
      owners: [{ name: "next" }],
      until: "2026-01-01T00:00:30.000Z",
    });
  });

  it("is granted with a warning where the pool's policy is Warn", () => {
    const granted = decide(bound(owner()), ask({ name: "twin" }, { policy: "Warn" }));
    expect(granted).toMatchObject({
      owners: [{ name: "web" }, { name: "twin" }],
      warning: expect.stringContaining("also in use by"),
    });
  });

  it("is refused where as many share the address as a claim can list, but not to one of them", () => {
    const others = Array.from({ length: MAX_CLAIM_OWNERS }, (_, index) =>
      owner({ name: `vm-${index}`, uid: `u${index}` }),
    );
    const refused = decide(bound(...others), ask({ name: "one-more", interface: "nic" }, { policy: "Warn" }));
    expect(refused).toEqual({
      code: "MACPOOL_SHARED_TOO_OFTEN",
      refused:
        'MAC 02:00:00:00:00:01 of interface "nic" is already shared by 64 objects, which is the maximum (objects that are being ' +
        "created count). Leave macAddress out to get a free address, or delete some of the objects that have this one.",
    });
    expect(decide(bound(...others), ask({ name: "vm-7", uid: "u7" }))).toHaveProperty(
      "owners.length",
      MAX_CLAIM_OWNERS,
    );
  });

  it("is granted to a VM, for as long as it does not run, where the policy is DenyRunning", () => {
    const granted = decide(bound(owner()), ask({ name: "twin" }, { policy: "DenyRunning" }));
    expect(granted).toMatchObject({
      owners: [{ name: "web" }, { name: "twin" }],
      warning: expect.stringContaining("one of them can run at a time"),
    });
  });

  it("is refused to what runs as soon as it exists where the policy is DenyRunning", () => {
    for (const kind of ["VirtualMachineInstance", "Pod"] as const) {
      const refused = decide(bound(owner()), ask({ kind, name: "twin" }, { policy: "DenyRunning" }));
      expect(refused).toMatchObject({ code: "MACPOOL_CONFLICT" });
    }
  });

  it("is granted to a VM that waits to receive the owner by migration", () => {
    const granted = decide(bound(owner()), ask({ namespace: "other", receiver: true }));
    expect(granted).toMatchObject({
      owners: [{ namespace: "default" }, { namespace: "other", receiver: true }],
      warning: undefined,
    });
  });

  it("is refused to a VM that has it as the receiver of a migration and waits no longer, while another has it", () => {
    const shared = bound(owner(), owner({ namespace: "other", uid: "u2", receiver: true }));
    const asked = ask({ namespace: "other", uid: "u2" });
    expect(decide(shared, asked)).toMatchObject({
      code: "MACPOOL_CONFLICT",
      refused: expect.stringContaining("is in use by VirtualMachine default/web (a)"),
    });
    const alone = decide(bound(owner({ namespace: "other", uid: "u2", receiver: true })), asked);
    expect(alone).toMatchObject({ owners: [{ namespace: "other", uid: "u2" }] });
    expect(alone).not.toHaveProperty("owners.0.receiver");
  });

  it("is decided by the strictest policy: that of the pool of the one that asks, or of the holder's", () => {
    const policyIn = (): ConflictPolicy => "Deny";
    expect(decide(bound(owner()), ask({ namespace: "lax" }, { policy: "Warn", policyIn }))).toHaveProperty("code");
    const running = decide(
      bound(owner()),
      ask({ namespace: "lax" }, { policy: "Warn", policyIn: () => "DenyRunning" }),
    );
    expect(running).toMatchObject({ warning: expect.stringContaining("one of them can run at a time") });
  });

  it("tells a pod's author about the pod's field", () => {
    const pods = bound(owner({ kind: "Pod", interface: "net1" }));
    expect(decide(pods, ask({ kind: "Pod", name: "other" }, { field: "mac" }))).toMatchObject({
      refused: expect.stringContaining(
        "Leave mac out to get a free address. To use this one, delete the other pod first.",
      ),
    });
  });
});
