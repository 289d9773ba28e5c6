import { expect, it } from "vitest";
import type { NodeWithBridge } from "../../src/api/landing.ts";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../../src/api/names.ts";
import { type ClusterFacts, lintNetwork } from "../../src/nad-lint/lint.ts";

const BR1 = { [NAD_RESOURCE_NAME_ANNOTATION]: "bridge.network.kubevirt.io/br1" };
const CONFIG = JSON.stringify({ cniVersion: "0.3.1", type: "cnv-bridge", bridge: "br1" });

it("says that no VM can land on the nodes with the bridge, why, and what to do", () => {
  const clusterWith = (...having: NodeWithBridge[]): ClusterFacts => ({ nodesWith: () => ({ having, total: 3 }) });
  const lost = { node: "node-c", states: ["NotReady", "cordoned"], publishes: false };
  const cordoned = { node: "node-b", states: ["cordoned"], publishes: true };
  const silent = { node: "node-a", states: [], publishes: false };
  const saidOf = (annotations: Readonly<Record<string, string>>, ...having: NodeWithBridge[]) =>
    lintNetwork({ name: "blue", annotations, config: CONFIG }, clusterWith(...having)).flatMap(({ code, message }) =>
      code === "bridge-not-now" ? [message] : [],
    );
  expect(saidOf(BR1, lost)).toEqual([
    "1 of 3 nodes has br1, and no VM can land there now: node-c is NotReady and cordoned. VMs wait. " +
      "Bring node-c back (kubectl describe node node-c says why it is NotReady), or make br1 on another node. " +
      "That takes an administrator.",
  ]);
  expect(saidOf(BR1, cordoned, lost)).toEqual([
    "2 of 3 nodes have br1, and no VM can land there now: node-b is cordoned, and the other takes no VM either. VMs wait. " +
      "Let VMs on node-b again (kubectl uncordon node-b), or make br1 on another node. That takes an administrator.",
  ]);
  expect(saidOf(BR1, silent)[0]).toContain(
    "node-a does not publish br1. VMs wait. See whether a bridge-marker runs on node-a",
  );
  expect(saidOf({}, silent)).toEqual([]);
  expect(saidOf(BR1, cordoned, { ...silent, publishes: true })).toEqual([]);
});
