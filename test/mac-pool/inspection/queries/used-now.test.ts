import { expect, it } from "vitest";
import { formatMac } from "../../../../src/api/mac.ts";
import { WAIT_AS_RECEIVER } from "../../../../src/api/mac-pool-scope.ts";
import { NETWORKS_ANNOTATION, POD_WEBHOOK } from "../../../../src/api/names.ts";
import type { KubeObject } from "../../../../src/kube/client/resource.ts";
import { EVERYTHING, type Scope } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import {
  claimOf,
  FIRST,
  InspectionFixture,
  type InspectionFixtureOptions,
  instanceOf,
  owner,
  vmOf,
} from "../inspection-fixture.ts";

/** Who uses the address of an object that does not run. */

const MAC = formatMac(FIRST);
const web = vmOf("default", "web", [FIRST]);
const other = vmOf("lab", "other", [FIRST]);
const vmi = instanceOf(other, "node-a");
const starting = { ...vmi, status: { phase: "Scheduling" } } as KubeObject;
const REF = { kind: "VirtualMachine", namespace: "default", name: "web" } as const;

async function usedNow(options: InspectionFixtureOptions, scope: Scope = EVERYTHING) {
  await using fixture = await InspectionFixture.start({
    namespaces: { default: {}, lab: { [POD_WEBHOOK]: "allocate" } },
    machines: [web, other],
    claims: [claimOf(FIRST, [owner("default", "web"), owner("lab", "other")])],
    ...options,
  });
  const { interfaces } = await fixture.inspector.owner(REF, scope);
  expect(interfaces).toMatchObject([{ mac: MAC }]);
  return interfaces[0]?.usedNow;
}

it("is another VM that runs, or starts", async () => {
  const party = { kind: "VirtualMachineInstance", namespace: "lab", name: "other", interface: "a" };
  expect(await usedNow({ instances: [vmi] })).toMatchObject({ parties: [{ ...party, node: "node-a" }], elsewhere: 0 });
  expect(await usedNow({ instances: [starting] })).toMatchObject({ parties: [{ ...party, notRunningYet: true }] });
});

it("is a pod, also one that waits for its node: it exists, so the VM may not start under DenyRunning", async () => {
  const annotations = { [NETWORKS_ANNOTATION]: JSON.stringify([{ name: "blue", mac: MAC }]) };
  const metadata = { name: "pod", namespace: "lab", uid: "pod", annotations };
  const pod = { metadata, status: { phase: "Pending" } } as KubeObject;
  expect(await usedNow({ machines: [web], pods: [pod] })).toMatchObject({
    parties: [{ kind: "Pod", name: "pod", notRunningYet: true }],
  });
});

it("is nobody while none of the others runs, or the object runs itself and the list of collisions tells it", async () => {
  expect(await usedNow({})).toBeUndefined();
  expect(await usedNow({ instances: [{ ...vmi, status: { phase: "Succeeded" } } as KubeObject] })).toBeUndefined();
  expect(await usedNow({ instances: [vmi, instanceOf(web, "node-b")] })).toBeUndefined();
});

it("is not the source of the live migration that a VM waits to receive", async () => {
  const receiver = { ...web, spec: { ...(web.spec as object), runStrategy: WAIT_AS_RECEIVER } } as KubeObject;
  expect(await usedNow({ machines: [receiver, other], instances: [vmi] })).toBeUndefined();
});

it("is a number for who does not see the namespace", async () => {
  const scope = { namespace: "default" };
  for (const instances of [[vmi], [starting]]) {
    const used = await usedNow({ instances }, scope);
    expect(used).toEqual({ parties: [], elsewhere: 1 });
  }
});
