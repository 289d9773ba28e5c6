import { describe, expect, it } from "vitest";
import { parseMac } from "../../../src/api/mac.ts";
import type { ClaimOwner, MACClaim } from "../../../src/api/mac-claim.ts";
import { POD_WEBHOOK, VM_WEBHOOK } from "../../../src/api/names.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { Arrivals } from "../../../src/mac-pool/caches/arrivals.ts";
import type { Informers } from "../../../src/mac-pool/caches/informers.ts";
import { allocated, newClaim } from "../../../src/mac-pool/core/claim.ts";
import { owner } from "../core/lifecycle-bed.ts";
import { machine } from "../machines.ts";
import { Told } from "./told.ts";

const TEXT = "02:00:00:00:00:01";
const MAC = parseMac(TEXT) ?? (0 as never);
const PENDING_MS = 120_000;

function vm(name: string, version: string, macAddress = TEXT): KubeObject {
  const made = machine(name, "default", [{ name: "a", macAddress }]);
  return { ...made, metadata: { ...made.metadata, uid: `u-${name}`, resourceVersion: version } };
}

const claimed = (version: string, more: Partial<ClaimOwner> = {}, generation = 1): MACClaim => {
  const { name: _, ...unnamed } = owner(more);
  const known = more.generateName === undefined ? owner(more) : unnamed;
  const claim = newClaim(MAC, { pool: "default", origin: "explicit" }, allocated([known]));
  return { ...claim, metadata: { ...claim.metadata, resourceVersion: version, generation } };
};

function bed() {
  let nowMs = 0;
  const told = () => new Told();
  const informers = { namespaces: told(), machines: told(), instances: told(), claims: told(), pools: told() };
  const arrivals = new Arrivals(informers as unknown as Informers, {
    clock: { ...systemClock, monotonicMs: () => nowMs },
    pendingMs: () => PENDING_MS,
    isManaged: (_, { metadata }) => metadata.name !== "unmanaged",
    mayOptOut: (labels) => labels.tenant === "yes",
  });
  const hasCome = (claim: MACClaim): boolean => arrivals.hasCome(claim, MAC);
  return { ...informers, hasCome, pass: (ms: number) => (nowMs += ms) };
}

describe("what a claim was made for has come", () => {
  it("where an object of its owner's name was created with the address after the claim, and may be gone", () => {
    const { machines, hasCome } = bed();
    expect(hasCome(claimed("10"))).toBe(false);
    machines.set(vm("web", "11"));
    machines.delete("web");
    expect([hasCome(claimed("10")), hasCome(claimed("12"))]).toEqual([true, false]);
    expect(hasCome(claimed("10", { name: "db" }))).toBe(false);
    expect(hasCome(claimed("10", { generateName: "we" }))).toBe(true);
    expect(hasCome(claimed("10", { generateName: "db-" }))).toBe(false);
  });

  it("not where the claim was written again: another creation of that name may be under way", () => {
    const { machines, hasCome } = bed();
    machines.set(vm("web", "11"));
    expect(hasCome(claimed("10", {}, 2))).toBe(false);
  });

  it("where an update gave the object the address that asked for it, and not where another one did", () => {
    const { machines, hasCome } = bed();
    machines.set(vm("web", "9", ""));
    machines.set(vm("web", "11"));
    expect(hasCome(claimed("10", { uid: "u-web" }))).toBe(true);
    expect(hasCome(claimed("10", { uid: "u-other" }))).toBe(false);
    expect(hasCome(claimed("10"))).toBe(false);
  });

  it("not where the object was listed, came without the webhook, or before the pools were known", () => {
    const { machines, pools, hasCome } = bed();
    machines.set(vm("web", "11"), false);
    machines.set(vm("unmanaged", "12"));
    expect([hasCome(claimed("10")), hasCome(claimed("10", { name: "unmanaged" }))]).toEqual([false, false]);
    pools.hasSynced = false;
    machines.set(vm("early", "13"));
    expect(hasCome(claimed("10", { name: "early" }))).toBe(false);
  });

  it("only as long as a request may live, and in the history that the watch told of", () => {
    for (const kind of ["machines", "instances", "claims"] as const) {
      const { hasCome, ...informers } = bed();
      informers.machines.set(vm("web", "11"));
      expect(hasCome(claimed("10"))).toBe(true);
      informers[kind].listed();
      expect(hasCome(claimed("10"))).toBe(false);
    }
    const { machines, hasCome, pass } = bed();
    machines.set(vm("web", "11"));
    pass(PENDING_MS);
    expect(hasCome(claimed("10"))).toBe(false);
  });

  it.each([
    ["nothing", { team: "blue" }, true],
    ["nothing", { [VM_WEBHOOK]: "allocate", "openshift.io/run-level": "2" }, true],
    ["whether pods are managed", { [POD_WEBHOOK]: "allocate" }, true],
    ["whether VMs are managed", { [VM_WEBHOOK]: "ignore" }, false],
    ["whether anything is managed", { runlevel: "1" }, false],
    ["which pool serves it, and so what an opt-out means", { tenant: "yes" }, false],
  ])("where a label of its namespace changed that decides: %s (%o): %s", (_, labels, known) => {
    const { namespaces, machines, hasCome } = bed();
    const labelled = (given: Record<string, string>): KubeObject => ({ metadata: { name: "default", labels: given } });
    namespaces.set(labelled({}));
    machines.set(vm("web", "11"));
    namespaces.set(labelled(labels));
    expect(hasCome(claimed("10"))).toBe(known);
  });

  it("for twenty thousand addresses, the last ones", () => {
    const { machines, hasCome } = bed();
    machines.set(vm("web", "11"));
    const text = (number: number): string =>
      `02:00:00:01:${[number >> 8, number & 255].map((each) => each.toString(16).padStart(2, "0")).join(":")}`;
    for (let number = 0; number < 19_999; number++) machines.set(vm(`vm-${number}`, "12", text(number)));
    expect(hasCome(claimed("10"))).toBe(true);
    machines.set(vm("one-more", "13", text(20_000)));
    expect(hasCome(claimed("10"))).toBe(false);
  });
});
