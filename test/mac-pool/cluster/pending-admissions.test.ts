import { describe, expect, it } from "vitest";
import { claimName, parseMac } from "../../../src/api/mac.ts";
import type { ClaimOwner, MACClaim } from "../../../src/api/mac-claim.ts";
import { POD_WEBHOOK, VM_WEBHOOK } from "../../../src/api/names.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import type { Informers } from "../../../src/mac-pool/cluster/informers.ts";
import { PendingAdmissions } from "../../../src/mac-pool/cluster/pending-admissions.ts";
import { allocatedTo, claim, owner } from "../claims/lifecycle-fixture.ts";
import { machine } from "../machines.ts";
import { FakeInformer } from "./fake-informer.ts";

const TEXT = "02:00:00:00:00:01";
const MAC = parseMac(TEXT) ?? (0 as never);
const PENDING_MS = 120_000;

function vm(name: string, version: string, macAddress = TEXT): KubeObject {
  const made = machine(name, "default", [{ name: "a", macAddress }]);
  return { ...made, metadata: { ...made.metadata, uid: `u-${name}`, resourceVersion: version } };
}

/** The claim as one of its versions names whoever was admitted. */
const claimed = (version: string, more: Partial<ClaimOwner> = {}, generation = 1): MACClaim => {
  const { name: _, ...unnamed } = owner(more);
  const known = more.generateName === undefined ? owner(more) : unnamed;
  return written(allocatedTo(known), version, generation);
};

const written = (made: MACClaim, version: string, generation: number): MACClaim => ({
  ...made,
  metadata: { ...made.metadata, uid: "u-claim", resourceVersion: version, generation },
});

const again = (second: number): { since: string } => ({ since: `2026-01-01T00:00:0${second}.000Z` });

function fixture() {
  let nowMs = 0;
  const informer = () => new FakeInformer();
  const informers = { namespaces: informer(), machines: informer(), instances: informer(), pools: informer() };
  const claims = new FakeInformer<MACClaim>();
  const admissions = new PendingAdmissions({ ...informers, claims } as unknown as Informers, {
    clock: { ...systemClock, monotonicMs: () => nowMs },
    pendingMs: () => PENDING_MS,
    isManaged: (_, { metadata }) => metadata.name !== "unmanaged",
    mayOptOut: (labels) => labels.tenant === "yes",
    isListed: () => informers.machines.list().length > 0,
  });
  const hasCome = (): boolean => {
    const admission = admissions.of(MAC);
    return admission !== undefined && admissions.hasCome(admission);
  };
  const leftMs = (): number => admissions.leftMs(MAC, nowMs);
  return { ...informers, claims, admissions, hasCome, leftMs, pass: (ms: number) => (nowMs += ms) };
}

/** Whether a VM of version 11 is what the claim was made for. */
function comes(claim: MACClaim, object = vm("web", "11")): boolean {
  const { claims, machines, hasCome } = fixture();
  claims.set(claim);
  machines.set(object);
  machines.delete("web");
  return hasCome();
}

describe("an address", () => {
  it("is kept for as long as a request may live after somebody was admitted, and no longer for other writes", () => {
    const { claims, leftMs, pass } = fixture();
    claims.set(claimed("10"));
    pass(100_000);
    claims.set(claimed("11", { interface: "b" }, 2));
    expect(leftMs()).toBe(20_000);
    claims.set(claimed("12", again(1), 3));
    expect(leftMs()).toBe(120_000);
    claims.set(written(claim({ phase: "Quarantined", owners: [] }), "13", 4));
    expect(leftMs()).toBe(0);
  });

  it("is kept for the whole time where a version of the claim was missed: replicas have clocks of their own", () => {
    const { claims, leftMs, pass } = fixture();
    claims.set(claimed("10", again(5)));
    pass(PENDING_MS);
    claims.set(claimed("20", { name: "db", ...again(1) }, 3));
    expect(leftMs()).toBe(120_000);
  });

  it("is kept for the whole time where this process has only just begun to look", () => {
    const { claims, leftMs } = fixture();
    claims.set(claimed("10"), false);
    expect(leftMs()).toBe(120_000);
  });

  it("is not kept without a claim", () => {
    const { claims, admissions } = fixture();
    claims.set(claimed("10"));
    claims.delete(claimName(MAC));
    expect(admissions.of(MAC)).toBeUndefined();
  });

  it("is known to have been listed by an object that was gone before the claim was known, of whatever admission", () => {
    const { claims, machines, admissions, hasCome } = fixture();
    expect(admissions.hasArrival(MAC)).toBe(false);
    machines.set(vm("web", "11"));
    machines.delete("web");
    claims.set(claimed("10"));
    claims.set(claimed("12", again(1), 3));
    expect([hasCome(), admissions.hasArrival(MAC)]).toEqual([false, true]);
  });

  it("is known to have been listed when somebody was admitted", () => {
    for (const isThere of [true, false]) {
      const { claims, machines, admissions } = fixture();
      if (isThere) machines.set(vm("web", "9"));
      claims.set(claimed("10"));
      expect(admissions.of(MAC)?.wasListed).toBe(isThere);
    }
  });
});

describe("what was admitted has come", () => {
  it("where an object of its owner's name was created with the address after the claim, and may be gone", () => {
    expect(comes(claimed("10"))).toBe(true);
    expect(comes(claimed("12"))).toBe(false);
    expect(comes(claimed("10", { name: "db" }))).toBe(false);
    expect(comes(claimed("10", { generateName: "we" }))).toBe(true);
    expect(comes(claimed("10", { generateName: "db-" }))).toBe(false);
  });

  it("also where its event was faster than that of its claim", () => {
    const { claims, machines, hasCome } = fixture();
    machines.set(vm("web", "11"));
    claims.set(claimed("10"));
    expect(hasCome()).toBe(true);
  });

  it("not where another creation of that name may be under way", () => {
    const { claims, machines, hasCome } = fixture();
    claims.set(claimed("9"));
    claims.set(claimed("10", again(1), 2));
    machines.set(vm("web", "11"));
    expect(hasCome()).toBe(false);
  });

  it("where the one before has come, or can come no more, or where the address rested", () => {
    const { claims, machines, hasCome, pass } = fixture();
    claims.set(claimed("9"));
    machines.set(vm("web", "10"));
    machines.delete("web");
    claims.set(claimed("11", again(1), 2));
    expect(hasCome()).toBe(false);
    machines.set(vm("web", "12"));
    expect(hasCome()).toBe(true);
    machines.delete("web");
    claims.set(written(claim({ phase: "Quarantined", owners: [] }), "13", 3));
    claims.set(claimed("14", { name: "db", ...again(2) }, 4));
    machines.set(vm("db", "15"));
    expect(hasCome()).toBe(true);
    claims.set(claimed("16", { name: "lost", ...again(3) }, 5));
    pass(PENDING_MS);
    claims.set(claimed("17", { name: "last", ...again(4) }, 6));
    machines.set(vm("last", "18"));
    expect(hasCome()).toBe(true);
  });

  it("not where it may be an earlier creation of that name, as its event was faster than that of the last admission", () => {
    const { claims, machines, hasCome } = fixture();
    claims.set(claimed("9"));
    machines.set(vm("web", "11"));
    claims.set(claimed("10", again(1), 2));
    expect(hasCome()).toBe(false);
  });

  it("not where a version of the claim was missed, or the claim was listed", () => {
    const missed = fixture();
    missed.claims.set(claimed("8"));
    missed.machines.set(vm("web", "9"));
    missed.claims.set(claimed("11", again(2), 3));
    missed.machines.delete("web");
    missed.machines.set(vm("web", "12"));
    expect(missed.hasCome()).toBe(false);
    const listed = fixture();
    listed.claims.set(claimed("10"), false);
    listed.machines.set(vm("web", "11"));
    expect(listed.hasCome()).toBe(false);
  });

  it("of several owners where it is the one that was admitted last", () => {
    for (const [name, isIt] of [
      ["db", true],
      ["web", false],
    ] as const) {
      const { claims, machines, hasCome } = fixture();
      claims.set(written(allocatedTo(owner({ name: "db", ...again(1) }), owner()), "10", 1));
      machines.set(vm(name, "11"));
      expect(hasCome()).toBe(isIt);
    }
  });

  it("where an update gave the object the address that asked for it, and not where another one did", () => {
    for (const [more, isIt] of [
      [{ uid: "u-web" }, true],
      [{ uid: "u-other" }, false],
      [{}, false],
    ] as const) {
      const { claims, machines, hasCome } = fixture();
      machines.set(vm("web", "9", ""));
      claims.set(claimed("10", more));
      machines.set(vm("web", "11"));
      expect(hasCome()).toBe(isIt);
    }
  });

  it("for a pod where a read has found it after its admission was known", () => {
    const { claims, admissions, hasCome } = fixture();
    const ref = { kind: "Pod", namespace: "default", name: "web", uid: "u-web" } as const;
    claims.set(claimed("10", { kind: "Pod" }));
    const admission = admissions.of(MAC);
    if (admission === undefined) throw new Error("nobody was admitted");
    admissions.confirm(admission, ref);
    expect(hasCome()).toBe(true);
    claims.set(claimed("11", { kind: "Pod", ...again(1) }, 2));
    admissions.confirm(admission, ref);
    expect(hasCome()).toBe(false);
  });

  it("not where the object was listed, came without the webhook, or before the pools were known", () => {
    const { claims, machines, pools, hasCome } = fixture();
    claims.set(claimed("10"));
    machines.set(vm("web", "11"), false);
    expect(hasCome()).toBe(false);
    machines.delete("web");
    pools.hasSynced = false;
    machines.set(vm("web", "12"));
    expect(hasCome()).toBe(false);
    expect(comes(claimed("10", { name: "unmanaged" }), vm("unmanaged", "11"))).toBe(false);
  });

  it("only as long as a request may live, and in the history that the watch told of", () => {
    for (const kind of ["machines", "instances", "claims"] as const) {
      const { hasCome, ...informers } = fixture();
      informers.claims.set(claimed("10"));
      informers.machines.set(vm("web", "11"));
      expect(hasCome()).toBe(true);
      informers[kind].listed();
      expect(hasCome()).toBe(false);
    }
    const { claims, machines, hasCome, pass } = fixture();
    machines.set(vm("web", "11"));
    pass(PENDING_MS);
    claims.set(claimed("10"));
    expect(hasCome()).toBe(false);
  });

  it.each([
    ["nothing", { team: "blue" }, true],
    ["nothing", { [VM_WEBHOOK]: "allocate", "openshift.io/run-level": "2" }, true],
    ["whether pods are managed", { [POD_WEBHOOK]: "allocate" }, true],
    ["whether VMs are managed", { [VM_WEBHOOK]: "ignore" }, false],
    ["whether anything is managed", { runlevel: "1" }, false],
    ["which pool serves it, and so what an opt-out means", { tenant: "yes" }, false],
  ])("where a label of its namespace changed that decides: %s (%o): %s", (_, labels, known) => {
    const { namespaces, claims, machines, hasCome } = fixture();
    claims.set(claimed("10"));
    const labelled = (given: Record<string, string>): KubeObject => ({ metadata: { name: "default", labels: given } });
    namespaces.set(labelled({}));
    machines.set(vm("web", "11"));
    namespaces.set(labelled(labels));
    expect(hasCome()).toBe(known);
  });

  it("for twenty thousand addresses, the last ones", () => {
    const { claims, machines, hasCome } = fixture();
    claims.set(claimed("10"));
    machines.set(vm("web", "11"));
    const text = (number: number): string =>
      `02:00:00:01:${[number >> 8, number & 255].map((each) => each.toString(16).padStart(2, "0")).join(":")}`;
    for (let number = 0; number < 19_999; number++) machines.set(vm(`vm-${number}`, "12", text(number)));
    expect(hasCome()).toBe(true);
    machines.set(vm("one-more", "13", text(20_000)));
    expect(hasCome()).toBe(false);
  });
});
