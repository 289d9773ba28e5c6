import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../../src/kube/client/resource.ts";
import { InspectionFixture } from "../inspection-fixture.ts";
import { guestOf, nadOf } from "../networks.ts";

const ALL = { namespace: undefined };

function launcherOf(vm: string, nodeName?: string): KubeObject {
  const owner = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: vm, uid: `vmi-lab-${vm}` };
  return {
    metadata: {
      ...{ namespace: "lab", name: `virt-launcher-${vm}`, uid: `launcher-${vm}` },
      labels: { "kubevirt.io": "virt-launcher" },
      ownerReferences: [owner],
    },
    spec: nodeName === undefined ? {} : { nodeName },
    status: { phase: "Pending" },
  } as KubeObject;
}

const ofMachine = (vmi: KubeObject): KubeObject => {
  const { name = "" } = vmi.metadata;
  const owner = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name, uid: `vm-${name}` };
  return { ...vmi, metadata: { ...vmi.metadata, ownerReferences: [owner] } };
};

const pod = (name: string): KubeObject =>
  ({
    metadata: {
      ...{ namespace: "lab", name, uid: name },
      annotations: { "k8s.v1.cni.cncf.io/networks": '[{"name": "blue", "mac": "02:5d:1c:00:00:07"}]' },
    },
    spec: { nodeName: "node-b" },
    status: { phase: "Running" },
  }) as KubeObject;

describe("the users of a network", () => {
  it("wait for a node only while their launcher has none", async () => {
    await using fixture = await InspectionFixture.start({
      nads: [nadOf("lab", "blue")],
      instances: [guestOf("lab", "stray", ["blue"]), guestOf("lab", "pulling", ["blue"])],
      pods: [launcherOf("stray"), launcherOf("pulling", "node-a")],
    });
    const { networks } = fixture.inspector;
    const { items } = await networks.networks({ limit: 100 }, ALL);
    expect(items).toMatchObject([{ pending: 1, waiting: ["lab/stray"], starting: 1, running: 0 }]);
    await fixture.objects.tell("MODIFIED", "pods", launcherOf("stray", "node-b"));
    expect(await networks.network("lab", "blue", ALL)).toMatchObject({ pending: 0, waiting: [], starting: 2 });
  });

  it("are told by name where one network is asked for, VMs before the pods of the same name", async () => {
    await using fixture = await InspectionFixture.start({
      nads: [nadOf("lab", "blue")],
      instances: [
        ofMachine(guestOf("lab", "web", ["blue"], "node-a")),
        guestOf("lab", "job", ["blue"], "node-a", "Scheduled"),
        ofMachine(guestOf("lab", "stray", ["blue"])),
        guestOf("other", "guest", ["lab/blue"], "node-a"),
      ],
      pods: [pod("web"), launcherOf("web", "node-a")],
    });
    const { networks } = fixture.inspector;
    const own = [
      { kind: "VirtualMachineInstance", namespace: "lab", name: "job", state: "starting", node: "node-a" },
      { kind: "VirtualMachine", namespace: "lab", name: "stray", state: "waiting" },
      { kind: "VirtualMachine", namespace: "lab", name: "web", state: "running", node: "node-a" },
      { kind: "Pod", namespace: "lab", name: "web", state: "running", node: "node-b" },
    ];
    const guest = {
      kind: "VirtualMachineInstance",
      namespace: "other",
      name: "guest",
      state: "running",
      node: "node-a",
    };
    expect(await networks.network("lab", "blue", ALL)).toMatchObject({ users: [...own, guest], moreUsers: 0 });
    expect((await networks.network("lab", "blue", { namespace: "lab" })).users).toEqual(own);
    const [listed] = (await networks.networks({ limit: 1 }, ALL)).items;
    expect(listed).not.toHaveProperty("users");
  });

  it("are the first 500, and the number of the others", async () => {
    const names = Array.from({ length: 600 }, (_, index) => `vm-${String((index * 7) % 600).padStart(3, "0")}`);
    await using fixture = await InspectionFixture.start({
      nads: [nadOf("lab", "blue")],
      instances: names.map((name) => guestOf("lab", name, ["blue"], "node-a")),
    });
    const { users = [], moreUsers } = await fixture.inspector.networks.network("lab", "blue", ALL);
    expect(users.map(({ name }) => name)).toEqual(names.toSorted().slice(0, 500));
    expect(moreUsers).toBe(100);
  });
});
