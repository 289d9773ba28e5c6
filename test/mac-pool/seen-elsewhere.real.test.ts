import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiVersionOf, NODE_MACS } from "../../src/api/kinds.ts";
import type { NodeStation } from "../../src/api/node-macs.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { SEEN_ELSEWHERE_EVENT } from "../../src/mac-pool/controllers/seen-elsewhere.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { instanceOf, machine } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

const MAC = "02:5d:1c:00:00:01";
const SHOP = "shop";

describe("an address that somebody beyond the uplinks uses too, on a real API server", { timeout: 120_000 }, () => {
  let fixture: PoolFixture;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await fixture.startReplica("one");
    await fixture.admin.create(RESOURCES.namespaces, { metadata: { name: SHOP } });
    await fixture.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }] });
    await fixture.registerWebhooks();
    const vm = machine("web", SHOP, [{ name: "net1", macAddress: MAC }]);
    await fixture.admin.create(KINDS.instances, instanceOf(await fixture.admin.create(KINDS.virtualMachines, vm)));
    await moveTo({ phase: "Running", nodeName: "node-a", interfaces: [{ name: "net1", mac: MAC }] });
  }, 120_000);
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  const moveTo = (status: object) =>
    fixture.admin.patch(
      KINDS.instances,
      { name: "web", namespace: SHOP },
      { type: "merge", body: { status } },
      { subresource: "status" },
    );

  /** As the marker of the node does. */
  async function report(name: string, station: Partial<NodeStation>): Promise<void> {
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid: `uid-of-${name}` }];
    const stations = [{ mac: MAC, bridge: "br1", uplink: "eno2", lastSeen: soon(0), ...station }];
    const kind = { apiVersion: apiVersionOf(NODE_MACS), kind: NODE_MACS.kind };
    const object = { ...kind, metadata: { name, ownerReferences }, addresses: [], stations };
    await fixture.admin.apply(KINDS.nodeMacs, object, { fieldManager: "bridge-marker", force: true });
  }

  /** A time so many seconds from now, as a marker writes it. */
  const soon = (seconds: number): string => `${new Date(Date.now() + seconds * 1000).toISOString().slice(0, 19)}Z`;

  const events = async () => {
    const { items } = await fixture.admin.list(RESOURCES.events, { namespace: SHOP });
    return items.flatMap(({ reason, regarding, note }) =>
      reason === SEEN_ELSEWHERE_EVENT ? [`${regarding?.kind} ${regarding?.name}: ${note}`] : [],
    );
  };

  const counted = (count: number): Promise<unknown> =>
    eventually(`the leader counts ${count}`, async () =>
      (await fixture.metrics("one")).includes(`kubevirt_macpool_seen_elsewhere ${count}\n`),
    );

  it("is reported on the VM by its own node alone, and counted until its node says so no more", async () => {
    await report("node-b", { lastFlap: soon(300) });
    await report("node-a", { vlan: 100 });
    await counted(0);
    const lastFlap = soon(300);
    await report("node-a", { vlan: 100, lastFlap });
    await counted(1);
    await eventually("an event on the VM", async () => (await events()).length > 0);
    expect(await events()).toEqual([
      `VirtualMachineInstance web: MAC ${MAC} is also used by a station outside the cluster: it was seen at VLAN 100 of ` +
        `uplink eno2 of bridge br1 on node node-a again and again, last at ${lastFlap}. Give one of them another address. ` +
        "If nobody else has it, the network sends frames back: look for a loop.",
    ]);
    await report("node-a", { vlan: 100 });
    await counted(0);
  });

  it("is not reported of what was found while the VM migrated", async () => {
    await report("node-a", { lastFlap: soon(300) });
    await counted(1);
    const startTimestamp = soon(0);
    await moveTo({ migrationState: { migrationUid: "m", startTimestamp } });
    await counted(0);
    await moveTo({
      nodeName: "node-b",
      migrationState: { migrationUid: "m", startTimestamp, endTimestamp: soon(270) },
    });
    await counted(0);
    await report("node-b", { lastFlap: soon(400) });
    await counted(1);
  });
});
