import { expect, it } from "vitest";
import { NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION } from "../../../../src/api/names.ts";
import { EVERYTHING } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import { InspectionFixture } from "../inspection-fixture.ts";

it("findings name what was unplugged from a running VM and is still attached", async () => {
  const [left, kept] = ["pod9a6a0c3b4d8", "pod7087ef4cd1f"];
  const status = JSON.stringify([
    { name: "ovn-primary", interface: "ovn-udn1" },
    { name: "mine/blue", interface: left },
    { name: "mine/green", interface: kept },
  ]);
  const launcher = (name: string, networks: string, phase: string, uid = "web") => ({
    metadata: {
      ...{ namespace: "mine", name, uid: name, labels: { "kubevirt.io": "virt-launcher" } },
      ownerReferences: [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: "web", uid }],
      annotations: { [NETWORKS_ANNOTATION]: networks, [NETWORK_STATUS_ANNOTATION]: status },
    },
    status: { phase },
  });
  const pods = [
    launcher("web-1", JSON.stringify([{ name: "green", interface: kept }]), "Running"),
    launcher("web-2", JSON.stringify([left, kept].map((one) => ({ name: "any", interface: one }))), "Running"),
    launcher("web-3", "", "Succeeded"),
    launcher("web-4", "{", "Running"),
    launcher("of-no-vmi", JSON.stringify([{ name: "green", interface: kept }]), "Running", "made-up"),
  ];
  const instances = [{ metadata: { namespace: "mine", name: "web", uid: "web" } }];
  await using fixture = await InspectionFixture.start({
    ...{ namespaces: { mine: {} }, pods, instances },
  });
  const { findings } = await fixture.inspector.consistency("mine", EVERYTHING);
  expect(findings).toMatchObject([
    { code: "INTERFACE_LEFT_BEHIND", owner: { kind: "Pod", namespace: "mine", name: "web-1" } },
  ]);
  expect(findings[0]?.message).toContain("Interface pod9a6a0c3b4d8 on network mine/blue");
});
