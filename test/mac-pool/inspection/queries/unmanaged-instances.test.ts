import { expect, it } from "vitest";
import { formatMac } from "../../../../src/api/mac.ts";
import { VM_WEBHOOK } from "../../../../src/api/names.ts";
import type { KubeObject } from "../../../../src/kube/client/resource.ts";
import { EVERYTHING } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import { claimOf, FIRST, InspectionFixture, instanceOf, owner, vmOf } from "../inspection-fixture.ts";

/** VMIs of a namespace that opted out, which run. */

const MAC = formatMac(FIRST);
const NAMESPACES = { default: {}, lab: { [VM_WEBHOOK]: "ignore" } };
const web = vmOf("default", "web", [FIRST]);
const twin = instanceOf(vmOf("lab", "twin", [FIRST]), "node-b");

const start = (instances: readonly KubeObject[] = [instanceOf(web, "node-a"), twin]) =>
  InspectionFixture.start({
    namespaces: NAMESPACES,
    machines: [web],
    instances,
    claims: [claimOf(FIRST, [owner("default", "web")])],
  });

const party = {
  kind: "VirtualMachineInstance",
  namespace: "lab",
  name: "twin",
  interface: "a",
  network: "multus br1-net",
  node: "node-b",
  isManaged: false,
};

it("are parties of a collision, which they make a true one, and are told to be not managed", async () => {
  await using fixture = await start();
  const { items } = fixture.inspector.collisionsIn(undefined, EVERYTHING);
  expect(items).toMatchObject([{ mac: MAC, parties: [{ name: "web" }, party], elsewhere: 0 }]);
  expect(items[0]).not.toHaveProperty("isSaid");
  expect(items[0]?.parties[0]).not.toHaveProperty("isManaged");
  const { findings } = await fixture.inspector.consistency(undefined, EVERYTHING);
  expect(findings.filter(({ code }) => code === "SHARED_ADDRESS")).toMatchObject([{ mac: MAC }]);
});

it("are told with the claim of another, and with a question about the address", async () => {
  await using fixture = await start();
  const { inspector } = fixture;
  expect(inspector.claim(MAC, EVERYTHING).unmanagedInstances).toEqual([party]);
  expect(inspector.check(MAC, "lab", EVERYTHING).unmanagedInstances).toEqual([party]);
});

it("are counted, and not named, for who reads another namespace", async () => {
  await using fixture = await start();
  const scope = { namespace: "default" };
  const told = [
    fixture.inspector.collisionsIn("default", scope),
    fixture.inspector.claim(MAC, scope),
    fixture.inspector.check(MAC, "default", scope),
    await fixture.inspector.owner({ kind: "VirtualMachine", namespace: "default", name: "web" }, scope),
    await fixture.inspector.consistency("default", scope),
  ];
  expect(fixture.inspector.collisionsIn("default", scope).items).toMatchObject([{ elsewhere: 1 }]);
  expect(JSON.stringify(told)).not.toMatch(/twin|"lab"|lab\/|node-b/);
});

it.each([
  ["before virt-handler says that its guest runs", { phase: "Pending" }],
  ["without a node", { nodeName: "" }],
  ["once it has ended", { phase: "Succeeded" }],
])("are none %s, as its author can write an address into its status", async (_, more) => {
  await using fixture = await start([
    instanceOf(web, "node-a"),
    { ...twin, status: { ...(twin.status as object), ...more } },
  ]);
  expect(fixture.inspector.collisionsIn(undefined, EVERYTHING).items).toEqual([]);
  expect(fixture.inspector.claim(MAC, EVERYTHING)).not.toHaveProperty("unmanagedInstances");
});
