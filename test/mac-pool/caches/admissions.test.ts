import { describe, expect, it } from "vitest";
import type { MACClaim } from "../../../src/api/mac-claim.ts";
import { POD_WEBHOOK, VM_WEBHOOK } from "../../../src/api/names.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import type { Handler } from "../../../src/kube/informer/informer.ts";
import { Admissions } from "../../../src/mac-pool/caches/admissions.ts";
import type { Informers } from "../../../src/mac-pool/caches/informers.ts";
import { machine } from "../machines.ts";

const MAC = 0x02_00_00_00_00_01;
const OLDER = { metadata: { resourceVersion: "10" } } as MACClaim;

const WEB = { metadata: { name: "web", namespace: "n", uid: "u" } };

/** Admissions of a namespace whose labels change once, and how to change them. */
function watched(hasSynced: boolean) {
  let changed: Handler<KubeObject>["update"];
  const ignored = { on: () => () => {}, hasSynced };
  const namespaces = {
    on: (handler: Handler<KubeObject>) => {
      const before = changed;
      changed = (...objects) => {
        before?.(...objects);
        handler.update?.(...objects);
      };
      return () => {};
    },
  };
  const informers = { machines: ignored, pools: ignored, namespaces, instances: ignored, claims: ignored };
  const admissions = new Admissions(informers as unknown as Informers, {
    clock: systemClock,
    pendingMs: () => 120_000,
    isManaged: () => true,
    mayOptOut: (labels) => labels.tenant === "yes",
  });
  const labelled = (labels: Record<string, string>): KubeObject => ({ metadata: { name: "n", labels } });
  const relabel = (labels: Record<string, string>): void => changed?.(labelled(labels), labelled({}));
  const known = (): string[] =>
    (["VirtualMachineInstance", "Pod"] as const).filter((kind) => admissions.wasAdmitted(kind, WEB));
  return { relabel, known };
}

describe("what is said of an object after a label of its namespace changed", () => {
  it.each([
    ["nothing", { team: "blue" }, ["VirtualMachineInstance", "Pod"]],
    ["nothing", { [VM_WEBHOOK]: "allocate", "openshift.io/run-level": "2" }, ["VirtualMachineInstance", "Pod"]],
    ["whether pods are managed", { [POD_WEBHOOK]: "allocate" }, ["VirtualMachineInstance"]],
    ["whether VMs are managed", { [VM_WEBHOOK]: "ignore" }, ["Pod"]],
    ["whether anything is managed", { runlevel: "1" }, ["Pod"]],
    ["which pool serves it, and so what an opt-out means", { tenant: "yes" }, []],
  ])("depends on what the label decides: %s (%o)", (_, labels, kinds) => {
    const { relabel, known } = watched(true);
    expect(known()).toEqual(["VirtualMachineInstance", "Pod"]);
    relabel(labels);
    expect(known()).toEqual(kinds);
  });

  it("is that nobody knows, while the pools are not listed: any of them may select by the label", () => {
    const { relabel, known } = watched(false);
    relabel({ team: "blue" });
    expect(known()).toEqual([]);
  });
});

it("remembers no creation that came before the pools were listed: one of them may let the object opt out", () => {
  const handlers: Handler<KubeObject>[] = [];
  const pools = { hasSynced: false };
  const ignored = { on: () => () => {} };
  const machines = { on: (handler: Handler<KubeObject>) => handlers.push(handler) };
  const informers = { machines, pools, namespaces: ignored, instances: ignored, claims: ignored };
  const admissions = new Admissions(informers as unknown as Informers, {
    clock: systemClock,
    pendingMs: () => 120_000,
    isManaged: () => true,
    mayOptOut: () => false,
  });
  const create = (name: string, resourceVersion: string): void => {
    const made = machine(name, "default", [{ name: "a", macAddress: "02:00:00:00:00:01" }]);
    const vm = { ...made, metadata: { ...made.metadata, uid: `u-${name}`, resourceVersion } };
    for (const handler of handlers) handler.add?.(vm, { created: true });
  };
  create("early", "11");
  pools.hasSynced = true;
  create("later", "12");
  expect(admissions.createdAfter(OLDER, MAC as never).map(({ name }) => name)).toEqual(["later"]);
});
