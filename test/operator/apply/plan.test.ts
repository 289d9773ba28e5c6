import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import {
  decodeInventory,
  encodeInventory,
  entryFor,
  type Inventory,
  keyOf,
} from "../../../src/operator/apply/inventory.ts";
import { applyOrder, isLeftToOthers, needsApply, planned, removals } from "../../../src/operator/apply/plan.ts";

const VERSION = "networkaddonsoperator.network.kubevirt.io/version";

function object(apiVersion: string, kind: string, name: string, rest: object = {}): KubeObject {
  return { apiVersion, kind, metadata: { name, namespace: "ns" }, ...rest };
}

const configMap = object("v1", "ConfigMap", "c", { data: { a: "1" } });
const daemonSet = object("apps/v1", "DaemonSet", "d", { spec: { selector: { matchLabels: { name: "d" } } } });
const role = object("rbac.authorization.k8s.io/v1", "ClusterRole", "r", { rules: [] });
const hook = object("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "h");
const pool = object("macpool.network.kubevirt.io/v1alpha1", "MACPool", "default");

function definition(version: string | undefined, spec: object): KubeObject {
  const labels = version === undefined ? {} : { [VERSION]: version };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "x", labels },
    spec,
  };
}

function inventory(...objects: readonly KubeObject[]): Inventory {
  return new Map(objects.map((item) => [keyOf(item), entryFor(item, "linuxBridge", planned(item).fingerprint)]));
}

describe("the plan", () => {
  it("applies rights before workloads and webhooks last", () => {
    const stages = applyOrder([hook, daemonSet, configMap, role].map(planned));
    expect(stages.map(({ stage }) => stage)).toEqual(["rights", "configuration", "workloads", "webhooks"]);
  });

  it("leaves a kind of several projects to whoever installed it first", () => {
    const wanted = planned(definition("0.1.0", { group: "k8s.cni.cncf.io", scope: "Namespaced" }));
    const theirs = definition(undefined, { group: "k8s.cni.cncf.io", scope: "Other" });
    expect(isLeftToOthers(theirs, wanted)).toBe(true);
    expect(needsApply(wanted, theirs, false)).toBe(false);
    const labels = { "app.kubernetes.io/managed-by": "cnao-operator" };
    const predecessors = { ...theirs, metadata: { ...theirs.metadata, labels } };
    expect(needsApply(wanted, predecessors, false)).toBe(true);
    const own = definition(undefined, { group: "macpool.network.kubevirt.io" });
    expect(needsApply(planned(definition("0.1.0", {})), own, false)).toBe(true);
  });

  it("removes webhooks first, then workloads, and what workloads need only after them", () => {
    const stages = removals(inventory(role, configMap, daemonSet, hook), new Set());
    expect(stages.map(({ stage, entries }) => [stage, entries.map(({ entry }) => entry.name)])).toEqual([
      ["webhooks", ["h"]],
      ["workloads", ["d"]],
      ["rest", ["r", "c"]],
    ]);
  });

  it("removes only what is not wanted, and never data", () => {
    expect(removals(inventory(configMap, pool), new Set([keyOf(configMap)]))).toEqual([]);
  });

  it("does not stumble over a kind that another version left in the inventory", () => {
    expect(removals(inventory(object("new.example/v9", "Gadget", "g")), new Set())).toEqual([]);
  });

  it("sends what is missing or changed by us, and nothing else", () => {
    const wanted = planned(configMap);
    expect(needsApply(wanted, undefined, true)).toBe(true);
    expect(needsApply(wanted, configMap, false)).toBe(true);
    expect(needsApply(wanted, configMap, true)).toBe(false);
  });

  it("leaves an object alone that is being deleted", () => {
    const going = { ...configMap, metadata: { ...configMap.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    expect(needsApply(planned(configMap), going, false)).toBe(false);
  });

  it("only sees to it that a Secret exists", () => {
    const secret = object("v1", "Secret", "s");
    expect(needsApply(planned(secret), undefined, false)).toBe(true);
    expect(needsApply(planned(secret), { ...secret, data: { "tls.key": "x" } }, false)).toBe(false);
  });

  it("replaces an older definition, and leaves a newer one", () => {
    const wanted = planned(definition("0.2.0", { a: 1 }));
    for (const version of [undefined, "0.1.9", "0.2.0"]) {
      expect(isLeftToOthers(definition(version, { a: 0 }), wanted)).toBe(false);
      expect(needsApply(wanted, definition(version, { a: 0 }), false)).toBe(true);
    }
    expect(isLeftToOthers(definition("0.10.0", { a: 2 }), wanted)).toBe(true);
    expect(needsApply(wanted, definition("0.10.0", { a: 2 }), false)).toBe(false);
  });

  it("remembers what it applied as text, with the pods to wait for", () => {
    const stored = inventory(daemonSet, role);
    expect(decodeInventory(encodeInventory(stored))).toEqual(stored);
    expect(stored.get(keyOf(daemonSet))?.podSelector).toEqual({ name: "d" });
    expect(decodeInventory("nonsense").size).toBe(0);
  });
});
