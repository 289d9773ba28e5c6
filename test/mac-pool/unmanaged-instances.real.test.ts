import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { VM_WEBHOOK } from "../../src/api/names.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { guestSpec, instanceOf, machine } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";
import { type RestAnswer, restGet } from "./rest-client.ts";
import { viewerToken } from "./viewer-token.ts";

const MAC = "02:5d:1c:00:00:01";

describe("a VM of a namespace that opted out, which runs with the address of another", () => {
  let fixture: PoolFixture;
  let viewer: string;
  let reader: string;
  let web: KubeObject;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await fixture.startReplica("one");
    const ranges = [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:ff:ff" }];
    await fixture.createPool("default", { ranges, conflictPolicy: "DenyRunning" });
    await fixture.registerWebhooks();
    await fixture.admin.create(RESOURCES.namespaces, { metadata: { name: "shop" } });
    await fixture.admin.create(RESOURCES.namespaces, { metadata: { name: "out", labels: { [VM_WEBHOOK]: "ignore" } } });
    viewer = await viewerToken(fixture, "viewer", "cluster");
    reader = await viewerToken(fixture, "reader", { namespace: "shop" });
    web = await fixture.admin.create(KINDS.virtualMachines, machine("web", "shop", [{ name: "a", macAddress: MAC }]));
    await run(await fixture.admin.create(KINDS.instances, instanceOf(web)), "node-a");
    const spec = guestSpec([{ name: "a" }]);
    const stranger = { metadata: { name: "stranger", namespace: "out" }, spec };
    await run(await fixture.admin.create(KINDS.instances, stranger as KubeObject), "node-b");
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  /** What virt-handler writes once the guest runs. */
  const run = async ({ metadata: { name = "", namespace = "" } }: KubeObject, nodeName: string): Promise<void> => {
    const body = { status: { phase: "Running", nodeName, interfaces: [{ name: "a", mac: MAC }] } };
    await fixture.admin.patch(KINDS.instances, { name, namespace }, { type: "merge", body }, { subresource: "status" });
  };
  const get = async (path: string, token: string): Promise<RestAnswer["body"]> =>
    (await restGet(fixture, "one", `/api/v1/${path}`, token)).body;
  const gauge = async (): Promise<boolean> =>
    (await fixture.metrics("one")).includes(`kmp_mac_collisions{mac="${MAC}"} 2`);

  it("is counted, and gets an event, which names nothing of the other namespace", async () => {
    await eventually("two objects", gauge);
    for (const [namespace, name] of [
      ["shop", "web"],
      ["out", "stranger"],
    ] as const) {
      await eventually(`an event on ${name}`, async () => {
        const { items } = await fixture.admin.list(RESOURCES.events, { namespace });
        const text = `MAC ${MAC}: Collision between vmi/${namespace}/${name}, an object in another namespace. `;
        return items.some(({ reason, note }) => reason === "MACCollision" && note?.startsWith(text));
      });
    }
  });

  it("is listed, with the claim of the other too, and told to be not managed", async () => {
    const { items } = await get("collisions", viewer);
    const stranger = { kind: "VirtualMachineInstance", namespace: "out", name: "stranger", isManaged: false };
    expect(items).toMatchObject([{ mac: MAC, parties: [{ namespace: "shop", name: "web" }, stranger], elsewhere: 0 }]);
    expect((await get(`claims/${MAC}`, viewer)).unmanagedInstances).toMatchObject([stranger]);
  });

  it("is a number to who reads the other namespace, running or not", async () => {
    const paths = [
      "collisions?namespace=shop",
      `claims/${MAC}?namespace=shop`,
      `check?mac=${MAC}&namespace=shop`,
      "owners/VirtualMachine/shop/web",
      "consistency?namespace=shop",
    ];
    const ask = async (): Promise<string> => JSON.stringify(await Promise.all(paths.map((path) => get(path, reader))));
    const running = await ask();
    expect((await get("collisions?namespace=shop", reader)).items).toMatchObject([{ mac: MAC, elsewhere: 1 }]);
    await fixture.admin.delete(KINDS.instances, { name: "web", namespace: "shop" });
    await eventually("the replica sees that the VM stopped", async () => {
      const { interfaces } = await get("owners/VirtualMachine/shop/web", reader);
      return JSON.stringify(interfaces[0].usedNow) === JSON.stringify({ parties: [], elsewhere: 1 });
    });
    for (const told of [running, await ask()]) expect(told).not.toMatch(/stranger|"out"|out\/|node-b/);
    await eventually("over", async () => !(await gauge()));
  });
});
