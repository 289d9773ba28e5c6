import { expect, it } from "vitest";
import { claimName, formatMac, type Mac } from "../../../../src/api/mac.ts";
import type { OwnerKind } from "../../../../src/api/mac-claim.ts";
import { NETWORKS_ANNOTATION } from "../../../../src/api/names.ts";
import type { KubeObject } from "../../../../src/kube/client/resource.ts";
import { EVERYTHING } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import {
  claimOf,
  FIRST,
  InspectionFixture,
  type InspectionFixtureOptions,
  instanceOf,
  owner,
  SINCE,
  vmOf,
} from "../inspection-fixture.ts";

const OWN = (FIRST + 1) as Mac;
const WEB = vmOf("lab", "web", [OWN]);
const VMI = instanceOf(WEB, "node-a");
const OF_VM = { kind: "VirtualMachine", name: "web" };

function launcherOf(name: string, uid: string, more: Partial<KubeObject["metadata"]> = {}): KubeObject {
  const networks = [{ name: "br1-net", interface: "pod1b2c", mac: formatMac(OWN) }];
  return {
    metadata: {
      ...{ namespace: "lab", name, uid: `uid-${name}`, labels: { "kubevirt.io": "virt-launcher" } },
      ownerReferences: [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: "web", uid }],
      annotations: { [NETWORKS_ANNOTATION]: JSON.stringify(networks) },
      ...more,
    },
    spec: { nodeName: "node-a" },
    status: { phase: "Running" },
  } as KubeObject;
}

const LAUNCHER = launcherOf("launcher", VMI.metadata.uid ?? "");

async function interfacesOf(kind: OwnerKind, name: string, more: InspectionFixtureOptions) {
  await using fixture = await InspectionFixture.start({
    pools: { default: { ranges: [{ start: formatMac(FIRST), end: "02:5d:1c:00:00:ff" }] } },
    namespaces: { lab: {} },
    claims: [claimOf(OWN, [owner("lab", "web", { network: "multus br1-net" })])],
    machines: [WEB],
    instances: [VMI],
    pods: [LAUNCHER],
    ...more,
  });
  return (await fixture.inspector.owner({ kind, namespace: "lab", name }, EVERYTHING)).interfaces;
}

const claimed = (name: string, holder: object) => ({
  ...{ interface: name, mac: formatMac(OWN), claim: claimName(OWN), phase: "Bound", origin: "automatic" },
  ...{ network: "multus br1-net", since: SINCE, holder },
});

it("are its VMI's, and its launcher's, which says so by its own names of the interfaces", async () => {
  expect(await interfacesOf("VirtualMachineInstance", "web", {})).toEqual([claimed("a", OF_VM)]);
  expect(await interfacesOf("Pod", "launcher", {})).toEqual([claimed("pod1b2c", OF_VM)]);
  expect(await interfacesOf("VirtualMachine", "web", {})).toEqual([
    expect.not.objectContaining({ holder: expect.anything() }),
  ]);
});

it("are those of the VMI for its launcher, where no VM made it", async () => {
  const { ownerReferences: _, ...metadata } = VMI.metadata;
  const claims = [claimOf(OWN, [owner("lab", "web", { kind: "VirtualMachineInstance", network: "multus br1-net" })])];
  const alone = { instances: [{ ...VMI, metadata }], machines: [], claims };
  expect(await interfacesOf("Pod", "launcher", alone)).toMatchObject([
    { claim: claimName(OWN), holder: { kind: "VirtualMachineInstance", name: "web" } },
  ]);
});

const UNCLAIMED = expect.not.objectContaining({ claim: expect.anything(), holder: expect.anything() });

it.each<[string, OwnerKind, string, InspectionFixtureOptions]>([
  [
    "a VMI that names a VM with another UID",
    "VirtualMachineInstance",
    "web",
    { machines: [{ ...WEB, metadata: { ...WEB.metadata, uid: "another" } }] },
  ],
  ["a VMI that names a VM that is not there", "VirtualMachineInstance", "web", { machines: [] }],
  [
    "a VMI of another name that names the VM",
    "VirtualMachineInstance",
    "copy",
    { instances: [{ ...VMI, metadata: { ...VMI.metadata, name: "copy" } }] },
  ],
  ["a launcher that names a VMI with another UID", "Pod", "fake", { pods: [launcherOf("fake", "another")] }],
  ["a launcher that names a VMI that is not there", "Pod", "launcher", { instances: [] }],
  [
    "a pod that calls itself a launcher, and has no VMI",
    "Pod",
    "fake",
    { pods: [launcherOf("fake", "", { ownerReferences: [] })] },
  ],
])("are not those of %s", async (_, kind, name, more) => {
  expect(await interfacesOf(kind, name, more)).toEqual([UNCLAIMED]);
});
