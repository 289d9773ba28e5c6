import { expect, it } from "vitest";
import { formatMac } from "../../../../src/api/mac.ts";
import type { KubeObject } from "../../../../src/kube/client/resource.ts";
import { EVERYTHING } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import { claimOf, FIRST, InspectionFixture, instanceOf, owner, vmOf } from "../inspection-fixture.ts";

const VM = vmOf("lab", "web", [FIRST]);
const REF = { kind: "VirtualMachine", namespace: "lab", name: "web" } as const;

function instance(phase: string): KubeObject {
  const running = instanceOf(VM, "node-a");
  return { ...running, status: { ...(running.status as object), phase } } as KubeObject;
}

it("says of an object that has a node whether it runs there yet", async () => {
  const ownerReferences = [
    { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: "web", uid: "vmi-lab-web", controller: true },
  ];
  const labels = { "kubevirt.io": "virt-launcher" };
  const launcher = {
    metadata: { namespace: "lab", name: "launcher", uid: "launcher", labels, ownerReferences },
    spec: { nodeName: "node-a" },
    status: { phase: "Pending" },
  };
  const annotations = { "k8s.v1.cni.cncf.io/networks": '[{"name": "br1-net", "mac": "02:5d:1c:00:00:01"}]' };
  const pod = {
    metadata: { namespace: "lab", name: "probe", uid: "probe", annotations },
    spec: { nodeName: "node-b" },
    status: { phase: "Pending" },
  };
  await using fixture = await InspectionFixture.start({
    claims: [claimOf(FIRST, [owner("lab", "web")])],
    machines: [VM],
    instances: [instance("Scheduled")],
    pods: [launcher, pod],
  });
  const { inspector, objects } = fixture;
  const starting = { node: "node-a", pod: "launcher", notRunningYet: true };
  expect(await inspector.owner(REF, EVERYTHING)).toMatchObject(starting);
  expect(inspector.claim(formatMac(FIRST), EVERYTHING)).toMatchObject({ owners: [starting] });
  const probe = { kind: "Pod", namespace: "lab", name: "probe" } as const;
  expect(await inspector.owner(probe, EVERYTHING)).toMatchObject({ node: "node-b", pod: "probe", notRunningYet: true });
  await objects.tell("MODIFIED", "virtualmachineinstances", instance("Running"));
  expect(await inspector.owner(REF, EVERYTHING)).toMatchObject({ node: "node-a", pod: "launcher" });
  expect(await inspector.owner(REF, EVERYTHING)).not.toHaveProperty("notRunningYet");
});
