import { describe, expect, it } from "vitest";
import { instanceOf, wantedInstance } from "./instance.ts";
import { launcherPod, podInterfaceName } from "./launcher-pod.ts";
import type { VirtualMachine, VirtualMachineInstance } from "./virtual-machine.ts";

const vmi: VirtualMachineInstance = {
  metadata: { name: "web", namespace: "shop", uid: "u-1", labels: { app: "web" } },
  spec: {
    domain: {
      devices: {
        interfaces: [
          { name: "default", masquerade: {} },
          { name: "net1", bridge: {}, macAddress: "02:00:00:00:00:01" },
          { name: "net2", bridge: {} },
          { name: "gone", bridge: {}, state: "absent" },
        ],
      },
    },
    networks: [
      { name: "default", pod: {} },
      { name: "net1", multus: { networkName: "br1-net" } },
      { name: "net2", multus: { networkName: "infra/br2-net" } },
      { name: "gone", multus: { networkName: "br3-net" } },
    ],
  },
};

describe("the launcher pod", () => {
  it("names multus links pod and 11 hex digits of the network's name", () => {
    expect(podInterfaceName({ name: "net1", multus: { networkName: "x" } })).toMatch(/^pod[0-9a-f]{11}$/);
    expect(podInterfaceName({ name: "default", pod: {} })).toBe("eth0");
  });

  it("asks multus for each secondary network, with the MAC where the VM has one", () => {
    const annotation = launcherPod(vmi).metadata.annotations?.["k8s.v1.cni.cncf.io/networks"] ?? "";
    expect(JSON.parse(annotation)).toEqual([
      {
        name: "br1-net",
        namespace: "shop",
        mac: "02:00:00:00:00:01",
        interface: podInterfaceName({ name: "net1", multus: { networkName: "br1-net" } }),
      },
      {
        name: "br2-net",
        namespace: "infra",
        interface: podInterfaceName({ name: "net2", multus: { networkName: "br2-net" } }),
      },
    ]);
  });

  it("carries KubeVirt's labels and owner, and requests no resources", () => {
    const pod = launcherPod(vmi);
    expect(pod.metadata.labels).toMatchObject({
      app: "web",
      "kubevirt.io": "virt-launcher",
      "kubevirt.io/created-by": "u-1",
    });
    expect(pod.metadata.ownerReferences).toMatchObject([
      { kind: "VirtualMachineInstance", name: "web", uid: "u-1", controller: true },
    ]);
    expect(JSON.stringify(pod)).not.toContain('"resources"');
  });

  it("of a migration's target keeps the networks, is marked with the migration, and avoids the source", () => {
    const target = launcherPod(vmi, { migrationName: "m", migrationUid: "u-2", sourceNode: "node-a" });
    expect(target.metadata.annotations).toMatchObject(launcherPod(vmi).metadata.annotations ?? {});
    expect(target.metadata.labels).toMatchObject({ "kubevirt.io/migrationJobUID": "u-2" });
    expect(JSON.stringify(target.spec?.affinity)).toContain("node-a");
  });
});

describe("a VirtualMachine", () => {
  it("starts an instance of its own name from its template", () => {
    const vm: VirtualMachine = {
      metadata: { name: "web", namespace: "shop", uid: "u-0" },
      spec: {
        runStrategy: "Always",
        template: { metadata: { labels: { app: "web" } }, spec: { terminationGracePeriodSeconds: 1 } },
      },
    };
    expect(instanceOf(vm)).toMatchObject({
      metadata: { name: "web", namespace: "shop", labels: { app: "web" }, ownerReferences: [{ uid: "u-0" }] },
      spec: { terminationGracePeriodSeconds: 1 },
    });
  });

  it("starts without the interfaces that are marked absent", () => {
    const spec = instanceOf({ metadata: {}, spec: { template: { spec: vmi.spec ?? {} } } }).spec;
    const names = ["default", "net1", "net2"];
    expect(spec?.domain?.devices?.interfaces?.map(({ name }) => name)).toEqual(names);
    expect(spec?.networks?.map(({ name }) => name)).toEqual(names);
  });

  it("runs as its strategy says", () => {
    const failed: VirtualMachineInstance = { metadata: {}, status: { phase: "Failed" } };
    const succeeded: VirtualMachineInstance = { metadata: {}, status: { phase: "Succeeded" } };
    expect(wantedInstance("Always", undefined)).toBe("present");
    expect(wantedInstance("Always", succeeded)).toBe("absent");
    expect(wantedInstance("RerunOnFailure", failed)).toBe("absent");
    expect(wantedInstance("RerunOnFailure", succeeded)).toBe("present");
    expect(wantedInstance("Once", failed)).toBe("present");
    expect(wantedInstance("Halted", failed)).toBe("absent");
    expect(wantedInstance("Manual", undefined)).toBe("as-is");
  });
});
