import { describe, expect, it } from "vitest";
import { formatMac, type Mac } from "../../../../src/api/mac.ts";
import { NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION, POD_WEBHOOK } from "../../../../src/api/names.ts";
import type { KubeObject } from "../../../../src/kube/client/resource.ts";
import { EVERYTHING } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import { claimOf, FIRST, InspectionFixture, instanceOf, owner, vmOf } from "../inspection-fixture.ts";

/** Pods of which the pool knows the address by their own annotation only. */

const SECOND = (FIRST + 1) as Mac;
const NAMESPACES = { default: {}, lab: {}, pods: { [POD_WEBHOOK]: "allocate" } };
const web = vmOf("default", "web", [FIRST]);
const machine = { machines: [web], instances: [instanceOf(web, "node-a")] };

const statusOf = (mac: Mac): string =>
  JSON.stringify([
    { name: "cni", interface: "eth0", default: true, mac: "0a:58:00:00:00:01" },
    { name: "lab/blue", interface: "net1", mac: formatMac(mac) },
  ]);

const networksOf = (mac: Mac): string => JSON.stringify([{ name: "blue", mac: formatMac(mac) }]);

function podOf(namespace: string, name: string, annotations: Record<string, string>, nodeName?: string): KubeObject {
  const metadata = { namespace, name, uid: `pod-${namespace}-${name}`, annotations };
  return { metadata, spec: { nodeName }, status: { phase: "Running" } } as KubeObject;
}

const attached = (namespace: string, name: string, mac = FIRST): KubeObject =>
  podOf(namespace, name, { [NETWORK_STATUS_ANNOTATION]: statusOf(mac) }, "node-b");

const said = {
  kind: "Pod",
  namespace: "lab",
  name: "t4",
  interface: "net1",
  network: "multus lab/blue",
  node: "node-b",
  saidBy: "network-status",
  isManaged: false,
};

it("are parties of a collision, and are told apart from those that the pool knows", async () => {
  await using fixture = await InspectionFixture.start({
    namespaces: NAMESPACES,
    ...machine,
    pods: [attached("lab", "t4")],
    claims: [claimOf(FIRST, [owner("default", "web")])],
  });
  const { items } = fixture.inspector.collisionsIn(undefined, EVERYTHING);
  const [known, saying] = items[0]?.parties ?? [];
  expect(known).toMatchObject({ kind: "VirtualMachineInstance", name: "web" });
  expect(known).not.toHaveProperty("saidBy");
  expect(saying).toEqual(said);
  expect(items[0]).toMatchObject({
    isSaid: true,
    advice: expect.stringContaining("look at the pod's interfaces first"),
  });
  expect(fixture.inspector.claim(formatMac(FIRST), EVERYTHING).sayingPods).toEqual([said]);
  expect(fixture.inspector.check(formatMac(FIRST), "default", EVERYTHING).sayingPods).toEqual([said]);
  expect(fixture.inspector.claim(formatMac(FIRST), { namespace: "default" })).not.toHaveProperty("sayingPods");
  expect(fixture.inspector.collisionsIn("default", { namespace: "default" }).items).toMatchObject([
    { parties: [{ name: "web" }], elsewhere: 1, isSaid: true },
  ]);
  const { findings } = await fixture.inspector.consistency(undefined, EVERYTHING);
  expect(findings.map(({ code }) => code)).not.toContain("SHARED_ADDRESS");
});

it("are told apart from those that ask for the address too, which multus gives to whom asks", async () => {
  const annotations = { [NETWORKS_ANNOTATION]: networksOf(FIRST), [NETWORK_STATUS_ANNOTATION]: statusOf(FIRST) };
  const pods = [podOf("lab", "t4", annotations, "node-b")];
  const claims = [claimOf(FIRST, [owner("default", "web")])];
  await using fixture = await InspectionFixture.start({ namespaces: NAMESPACES, ...machine, pods, claims });
  const asking = { ...said, asksForIt: true };
  expect(fixture.inspector.claim(formatMac(FIRST), EVERYTHING).sayingPods).toEqual([asking]);
  expect(fixture.inspector.collisionsIn(undefined, EVERYTHING).items[0]).toMatchObject({
    isSaid: true,
    parties: [{ name: "web" }, asking],
  });
});

it("have no claim that misses, and are named to who checks the address and may see them", async () => {
  const asking = podOf("lab", "t4", { [NETWORKS_ANNOTATION]: networksOf(FIRST) });
  await using fixture = await InspectionFixture.start({ namespaces: NAMESPACES, pods: [asking] });
  const text = (scope: Parameters<typeof fixture.inspector.check>[2]): string =>
    fixture.inspector.check(formatMac(FIRST), "default", scope).message;
  expect(text(EVERYTHING)).toContain("is admitted with a warning: it is also listed by Pod lab/t4 (net1), to which");
  expect(text({ namespace: "default" })).toContain("it is also listed by an object in another namespace, to which");
  const { findings } = await fixture.inspector.consistency(undefined, EVERYTHING);
  expect(findings.map(({ code }) => code)).not.toContain("OWNER_WITHOUT_CLAIM");
});

it.each([
  ["one that asks for the address and has no interface", { [NETWORKS_ANNOTATION]: networksOf(FIRST) }, "node-b"],
  ["one without a node", { [NETWORK_STATUS_ANNOTATION]: statusOf(FIRST) }, undefined],
])("are not %s", async (_, annotations, node) => {
  const pods = [podOf("lab", "t4", annotations, node)];
  await using fixture = await InspectionFixture.start({ namespaces: NAMESPACES, ...machine, pods });
  expect(fixture.inspector.collisionsIn(undefined, EVERYTHING).items).toEqual([]);
});

it("are managed ones too whose address the pool did not admit", async () => {
  const asks = podOf("pods", "asks", { [NETWORKS_ANNOTATION]: networksOf(FIRST) }, "node-b");
  await using fixture = await InspectionFixture.start({
    namespaces: NAMESPACES,
    ...machine,
    pods: [asks, attached("pods", "forged")],
  });
  const [collision] = fixture.inspector.collisionsIn(undefined, EVERYTHING).items;
  expect(collision).not.toHaveProperty("isSaid");
  expect(collision?.parties.map(({ name, saidBy }) => [name, saidBy])).toEqual([
    ["web", undefined],
    ["asks", undefined],
    ["forged", "network-status"],
  ]);
});

describe("a managed pod", () => {
  const asks = { [NETWORKS_ANNOTATION]: networksOf(FIRST) };
  const listing = (...entries: object[]): Record<string, string> => ({
    ...asks,
    [NETWORK_STATUS_ANNOTATION]: JSON.stringify([{ name: "cni", interface: "eth0", default: true }, ...entries]),
  });
  const blue = { name: "pods/blue", interface: "net1" };
  const collisionsWith = async (annotations: Record<string, string>, node?: string): Promise<number> => {
    const pods = [podOf("pods", "asks", annotations, node)];
    await using fixture = await InspectionFixture.start({ namespaces: NAMESPACES, ...machine, pods });
    return fixture.inspector.collisionsIn(undefined, EVERYTHING).items.length;
  };

  it("runs with an address that it asks for once it has a node, unless its network-status lists others", async () => {
    expect(await collisionsWith(asks, "node-b")).toBe(1);
    expect(await collisionsWith(listing({ ...blue, mac: formatMac(FIRST) }), "node-b")).toBe(1);
    // Not every plugin reports an address.
    expect(await collisionsWith(listing(blue), "node-b")).toBe(1);
    expect(await collisionsWith({ ...asks, [NETWORK_STATUS_ANNOTATION]: "no list" }, "node-b")).toBe(1);
  });

  it("does not while it waits for a node, or for the interface with it", async () => {
    expect(await collisionsWith(asks)).toBe(0);
    expect(await collisionsWith(listing({ ...blue, mac: formatMac(FIRST) }))).toBe(0);
    expect(await collisionsWith(listing(), "node-b")).toBe(0);
    expect(await collisionsWith(listing({ ...blue, mac: formatMac(SECOND) }), "node-b")).toBe(0);
  });
});

it("keep no collision that the pool knows out of the list", async () => {
  const twins = ["a", "b"].map((name) => vmOf("default", name, [SECOND]));
  await using fixture = await InspectionFixture.start({
    namespaces: NAMESPACES,
    machines: [web, ...twins],
    instances: [web, ...twins].map((vm) => instanceOf(vm, "node-a")),
    pods: [attached("lab", "t4")],
  });
  const { items } = fixture.inspector.collisionsIn(undefined, EVERYTHING);
  expect(items.map(({ mac, isSaid }) => [mac, isSaid])).toEqual([
    [formatMac(SECOND), undefined],
    [formatMac(FIRST), true],
  ]);
});
