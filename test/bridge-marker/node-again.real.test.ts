import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NODE_MACS } from "../../src/api/kinds.ts";
import type { NodeMACs } from "../../src/api/node-macs.ts";
import { isNotFound } from "../../src/kube/client/api-error.ts";
import { RESOURCES, type Resource } from "../../src/kube/client/resource.ts";
import { type ScriptedMonitor, scriptedMonitor, seenLink } from "../links/scripted-monitor.ts";
import { eventually } from "../support/eventually.ts";
import { type MarkedNode, MarkerHarness } from "./marker-harness.ts";

const REPORTS = NODE_MACS as Resource<NodeMACs>;
const COLLECTOR = ["--controllers=garbage-collector-controller"];
/** The collector looks for new kinds every half minute. */
const COLLECTED = { limitMs: 120_000 };
const ADDRESS = { mac: "52:54:00:00:00:01", interface: "eno1" };

describe("a node that is deleted and registered anew under its name", { timeout: 180_000 }, () => {
  let harness: MarkerHarness;
  let node: MarkedNode;
  let monitor: ScriptedMonitor;

  beforeAll(async () => {
    harness = await MarkerHarness.start({ controllerManager: true, controllerManagerArguments: COLLECTOR });
    await harness.config.create({ linuxBridge: {} });
    monitor = await scriptedMonitor(harness.controlPlane.directory);
    await monitor.say("!beat 100", seenLink(2, ADDRESS.interface, "", ADDRESS.mac), { event: "synced" });
    node = await harness.node({ env: { LINK_MONITOR: monitor.command } });
  });
  afterAll(async () => {
    await node?.[Symbol.asyncDispose]();
    await harness?.[Symbol.asyncDispose]();
  });

  const report = () => harness.admin.get(REPORTS, { name: node.name });

  /** UID of the node that is there, once the report is that node's. */
  async function reported(): Promise<string> {
    const { metadata } = await harness.admin.get(RESOURCES.nodes, { name: node.name });
    const found = await eventually("the report of the node", async () => {
      const { metadata: own, addresses } = await report();
      return own.ownerReferences?.some(({ uid }) => uid === metadata.uid) && { owners: own.ownerReferences, addresses };
    });
    expect(found).toMatchObject({
      owners: [{ kind: "Node", name: node.name, uid: metadata.uid }],
      addresses: [ADDRESS],
    });
    return metadata.uid ?? "";
  }

  it("takes its report of addresses along, by the garbage collector, and reports anew", async () => {
    const first = await reported();
    await node.unregister();
    const isGone = () => report().then(() => false, isNotFound);
    await eventually("the garbage collector to take the report", isGone, COLLECTED);
    await node.register();
    expect(await reported()).not.toBe(first);
  });

  it("hands its report over where the collector has not come yet", async () => {
    const first = await reported();
    await node.unregister();
    await node.register();
    expect(await reported()).not.toBe(first);
  });
});
