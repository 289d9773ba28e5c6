import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { isNotFound } from "../../../src/kube/client/api-error.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES, type Resource } from "../../../src/kube/client/resource.ts";
import { type Cluster, startCluster } from "../cluster.ts";
import { eventually } from "../demo/eventually.ts";
import { installKubevirt, type Kubevirt } from "./install.ts";
import {
  MIGRATIONS,
  VIRTUAL_MACHINE_INSTANCES,
  VIRTUAL_MACHINES,
  type VirtualMachine,
  type VirtualMachineInstance,
} from "./virtual-machine.ts";

const namespace = "default";
const signal = AbortSignal.timeout(110_000);
const limits = { limitMs: 20_000, signal };

let cluster: Cluster;
let client: KubeClient;
let kubevirt: Kubevirt;

beforeAll(async () => {
  cluster = await startCluster({ nodes: [{ name: "node-a" }, { name: "node-b" }] });
  client = await cluster.client();
  kubevirt = await installKubevirt(client);
});

afterAll(async () => {
  await kubevirt?.[Symbol.asyncDispose]();
  await client?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

function machine(name: string, runStrategy: "Always" | "Halted" | "WaitAsReceiver" = "Always"): VirtualMachine {
  const nic = { name: "default", masquerade: {}, macAddress: "02:00:00:00:00:01" };
  return {
    metadata: { name, namespace },
    spec: {
      runStrategy,
      template: {
        metadata: { labels: { app: name } },
        spec: { domain: { devices: { interfaces: [nic] } }, networks: [{ name: "default", pod: {} }] },
      },
    },
  };
}

async function create(vm: VirtualMachine): Promise<VirtualMachine> {
  onTestFinished(async () => {
    await client.delete(VIRTUAL_MACHINES, { name: vm.metadata.name ?? "", namespace }).catch(() => {});
  });
  return client.create(VIRTUAL_MACHINES, vm);
}

async function running(name: string, where: (vmi: VirtualMachineInstance) => boolean = () => true) {
  const probe = async () => {
    const vmi = await client.get(VIRTUAL_MACHINE_INSTANCES, { name, namespace });
    return vmi.status?.phase === "Running" && where(vmi) ? vmi : undefined;
  };
  return (await eventually(`VMI ${name} to run`, probe, limits)).value;
}

async function launchers(vmi: VirtualMachineInstance) {
  const labelSelector = `kubevirt.io/created-by=${vmi.metadata.uid}`;
  return (await client.list(RESOURCES.pods, { namespace, labelSelector })).items;
}

async function gone(resource: Resource, name: string): Promise<void> {
  const probe = async () => {
    try {
      await client.get(resource, { name, namespace });
      return false;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  };
  await eventually(`${resource.kind} ${name} to go`, probe, limits);
}

describe("the stand-in for virt-controller", () => {
  it("starts a VM: one instance, one launcher pod, status with the VM's MAC and the pod's address", async () => {
    await create(machine("web"));
    const vmi = await running("web");
    const [pod, ...others] = await launchers(vmi);
    expect(others).toEqual([]);
    expect(pod?.metadata.labels).toMatchObject({ app: "web", "kubevirt.io": "virt-launcher" });
    expect(vmi.status).toMatchObject({
      nodeName: pod?.spec?.nodeName,
      interfaces: [{ name: "default", mac: "02:00:00:00:00:01", ipAddress: pod?.status?.podIP }],
    });
    const status = async () => {
      const vm = await client.get(VIRTUAL_MACHINES, { name: "web", namespace });
      return vm.status?.printableStatus === "Running" && vm.status.ready;
    };
    await eventually("VM web to be Running", status, limits);
  });

  it("stops and starts a VM as its runStrategy changes", async () => {
    await create(machine("switch", "Halted"));
    await eventually(
      "VM switch to be Stopped",
      async () => {
        const vm = await client.get(VIRTUAL_MACHINES, { name: "switch", namespace });
        return vm.status?.printableStatus === "Stopped";
      },
      limits,
    );
    const run = (runStrategy: string) =>
      client.patch(VIRTUAL_MACHINES, { name: "switch", namespace }, { type: "merge", body: { spec: { runStrategy } } });
    await run("Always");
    const vmi = await running("switch");
    await run("Halted");
    await gone(VIRTUAL_MACHINE_INSTANCES, "switch");
    expect(await launchers(vmi)).toEqual([]);
  });

  it("takes instance and pod down before a deleted VM goes", async () => {
    await create(machine("short"));
    const vmi = await running("short");
    await client.delete(VIRTUAL_MACHINES, { name: "short", namespace });
    await gone(VIRTUAL_MACHINES, "short");
    await gone(VIRTUAL_MACHINE_INSTANCES, "short");
    expect(await launchers(vmi)).toEqual([]);
  });

  it("starts a VM again whose launcher was killed", async () => {
    await create(machine("again"));
    const before = await running("again");
    const [pod] = await launchers(before);
    await client.delete(RESOURCES.pods, { name: pod?.metadata.name ?? "", namespace });
    await running("again", (vmi) => vmi.metadata.uid !== before.metadata.uid);
  });

  it("migrates a VM to the other node by a second launcher with the same networks", async () => {
    await create(machine("mover"));
    const before = await running("mover");
    const [source] = await launchers(before);
    await client.create(MIGRATIONS, { metadata: { name: "move", namespace }, spec: { vmiName: "mover" } });
    const after = await running("mover", (vmi) => vmi.status?.nodeName !== before.status?.nodeName);
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(after.status?.migrationState).toMatchObject({ completed: true, sourcePod: source?.metadata.name });
    const { value: target } = await eventually(
      "the source launcher to go",
      async () => {
        const pods = await launchers(after);
        return pods.length === 1 ? pods[0] : undefined;
      },
      limits,
    );
    expect(target?.metadata.name).not.toBe(source?.metadata.name);
    expect(target?.metadata.annotations?.["kubevirt.io/domain"]).toBe("mover");
    const migration = await client.get(MIGRATIONS, { name: "move", namespace });
    expect(migration.status?.phase).toBe("Succeeded");
  });

  it("makes no launcher for a VM that waits for a migration from elsewhere", async () => {
    await create(machine("receiver", "WaitAsReceiver"));
    const waiting = async () => {
      const vmi = await client.get(VIRTUAL_MACHINE_INSTANCES, { name: "receiver", namespace });
      return vmi.status?.phase === "WaitingForSync" ? vmi : undefined;
    };
    const { value: vmi } = await eventually("VMI receiver to wait", waiting, limits);
    expect(await launchers(vmi)).toEqual([]);
  });
});
