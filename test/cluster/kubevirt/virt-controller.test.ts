import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { type Cluster, startCluster } from "../cluster.ts";
import { manifest } from "../test-pods.ts";
import { installKubevirt } from "./install.ts";
import { KubevirtApi } from "./kubevirt-api.ts";
import type { Machine } from "./model.ts";
import type { RunStrategy, VirtualMachineInstance } from "./virtual-machine.ts";

let cluster: Cluster;
let kubevirt: AsyncDisposable;
let api: KubevirtApi;

beforeAll(async () => {
  cluster = await startCluster({ nodes: [{ name: "node-a" }, { name: "node-b" }] });
  kubevirt = await installKubevirt(cluster.kubeconfig);
  const config = new KubeConfig();
  config.loadFromFile(cluster.kubeconfig);
  api = new KubevirtApi(config);
});

afterAll(async () => {
  await kubevirt?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

async function kubectl(args: readonly string[], ...objects: readonly object[]): Promise<void> {
  await cluster.mustKubectl(args, manifest(...objects));
}

async function create(name: string, runStrategy: RunStrategy = "Always"): Promise<void> {
  const nic = { name: "default", masquerade: {}, macAddress: "02:00:00:00:00:01" };
  const vm = {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachine",
    metadata: { name, namespace: "default" },
    spec: {
      runStrategy,
      template: {
        metadata: { labels: { app: name } },
        spec: { domain: { devices: { interfaces: [nic] } }, networks: [{ name: "default", pod: {} }] },
      },
    },
  };
  onTestFinished(() => kubectl(["delete", "--wait=false", "--ignore-not-found", "vm", name]));
  await kubectl(["create", "-f", "-"], vm);
}

const seen = (what: string, name: string, fits: (machine: Machine) => boolean | undefined): Promise<Machine> =>
  eventually(
    what,
    async () => {
      const machine = await api.machine("default", name);
      return fits(machine) && machine;
    },
    { limitMs: 20_000 },
  );

/** The machine with its instance, once that runs and is as it should be. */
async function running(name: string, fits: (vmi: VirtualMachineInstance) => boolean = () => true) {
  const isUp = ({ vmi }: Machine): boolean => vmi?.status?.phase === "Running" && fits(vmi);
  const { vmi = { metadata: {} }, ...machine } = await seen(`VMI ${name} to run`, name, isUp);
  return { ...machine, vmi };
}

async function launchersOf({ metadata }: VirtualMachineInstance): Promise<string> {
  const { stdout } = await cluster.kubectl([
    "get",
    "pods",
    "-o",
    "name",
    "-l",
    `kubevirt.io/created-by=${metadata.uid}`,
  ]);
  return stdout;
}

it("lets editors of a namespace write its VMs, and viewers read them, as KubeVirt's roles do", async () => {
  for (const role of ["edit", "view"]) {
    await kubectl(["create", "rolebinding", `${role}s`, `--clusterrole=${role}`, `--user=${role}or`]);
  }
  const may = async (role: string, verb: string): Promise<boolean> => {
    const asked = await cluster.kubectl(["auth", "can-i", verb, "virtualmachines.kubevirt.io", `--as=${role}or`]);
    return asked.stdout.startsWith("yes");
  };
  await eventually(
    "the roles to be gathered",
    async () => (await may("edit", "create")) && (await may("view", "list")),
  );
  expect(await may("view", "create")).toBe(false);
  const controller = "--as=system:serviceaccount:kubevirt:kubevirt-controller";
  await cluster.mustKubectl(["auth", "can-i", "update", "virtualmachineinstances.kubevirt.io", "-A", controller]);
});

describe("the stand-in for virt-controller", () => {
  it("starts a VM: one instance, one launcher pod, status with the VM's MAC and the pod's address", async () => {
    await create("web");
    const { vmi, launchers } = await running("web");
    const [pod, ...others] = launchers;
    expect(others).toEqual([]);
    expect(pod?.metadata.labels).toMatchObject({ app: "web", "kubevirt.io": "virt-launcher" });
    expect(vmi.status).toMatchObject({
      nodeName: pod?.spec?.nodeName,
      interfaces: [{ name: "default", mac: "02:00:00:00:00:01", ipAddress: pod?.status?.podIP }],
    });
    const isRunning = ({ vm }: Machine) => vm?.status?.printableStatus === "Running" && vm.status.ready;
    await seen("VM web to be Running", "web", isRunning);
  });

  it("stops and starts a VM as its runStrategy changes", async () => {
    await create("switch", "Halted");
    await seen("VM switch to be Stopped", "switch", ({ vm }) => vm?.status?.printableStatus === "Stopped");
    const run = (runStrategy: RunStrategy) =>
      kubectl(["patch", "vm", "switch", "--type=merge", "-p", JSON.stringify({ spec: { runStrategy } })]);
    await run("Always");
    const { vmi } = await running("switch");
    await run("Halted");
    await seen("VMI switch to go", "switch", (machine) => machine.vmi === undefined);
    expect(await launchersOf(vmi)).toBe("");
  });

  it("takes instance and pod down before a deleted VM goes", async () => {
    await create("short");
    const { vmi } = await running("short");
    await kubectl(["delete", "vm", "short"]);
    expect(await api.machine("default", "short")).toMatchObject({ vm: undefined, vmi: undefined });
    expect(await launchersOf(vmi)).toBe("");
  });

  it("starts a VM again whose launcher was killed", async () => {
    await create("again");
    const { vmi, launchers } = await running("again");
    await kubectl(["delete", "--wait=false", "pod", launchers[0]?.metadata.name ?? ""]);
    await running("again", ({ metadata }) => metadata.uid !== vmi.metadata.uid);
  });

  it("migrates a VM to the other node by a second launcher with the same networks", async () => {
    await create("mover");
    const before = await running("mover");
    const source = before.launchers[0]?.metadata.name;
    await kubectl(["create", "-f", "-"], {
      apiVersion: "kubevirt.io/v1",
      kind: "VirtualMachineInstanceMigration",
      metadata: { name: "move", namespace: "default" },
      spec: { vmiName: "mover" },
    });
    const { vmi } = await running("mover", ({ status }) => status?.nodeName !== before.vmi.status?.nodeName);
    expect(vmi.metadata.uid).toBe(before.vmi.metadata.uid);
    expect(vmi.status?.migrationState).toMatchObject({ completed: true, sourcePod: source });
    const isOver = ({ launchers, migrations }: Machine) =>
      launchers.length === 1 && migrations[0]?.status?.phase === "Succeeded";
    const { launchers } = await seen("the source launcher to go", "mover", isOver);
    expect(launchers[0]?.metadata.name).not.toBe(source);
    expect(launchers[0]?.metadata.annotations?.["kubevirt.io/domain"]).toBe("mover");
  });

  it("makes no launcher for a VM that waits for a migration from elsewhere", async () => {
    await create("receiver", "WaitAsReceiver");
    const isWaiting = ({ vmi }: Machine) => vmi?.status?.phase === "WaitingForSync";
    expect((await seen("VMI receiver to wait", "receiver", isWaiting)).launchers).toEqual([]);
  });

  it("goes on after the API server was away", async () => {
    await create("patient");
    await running("patient");
    await cluster.restartApiServer();
    await kubectl(["delete", "vm", "patient"]);
    expect((await api.machine("default", "patient")).vmi).toBeUndefined();
  });
});
