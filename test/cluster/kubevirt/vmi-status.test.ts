import { describe, expect, it } from "vitest";
import { podInterfaceName } from "./launcher-pod.ts";
import type { Launcher, VirtualMachineInstance } from "./virtual-machine.ts";
import { activePod, vmiStatus } from "./vmi-status.ts";

const link = podInterfaceName({ name: "net1", multus: { networkName: "br1-net" } });

function vmi(status?: VirtualMachineInstance["status"], macAddress?: string): VirtualMachineInstance {
  const nic = { name: "net1", bridge: {}, ...(macAddress === undefined ? {} : { macAddress }) };
  return {
    metadata: { name: "web", namespace: "default", uid: "u" },
    spec: {
      domain: { devices: { interfaces: [nic] } },
      networks: [{ name: "net1", multus: { networkName: "br1-net" } }],
    },
    ...(status === undefined ? {} : { status }),
  };
}

function pod(name: string, phase: string, labels: Record<string, string> = {}): Launcher {
  const networks = [{ name: "default/br1-net", interface: link, mac: "02:00:00:00:00:99", ips: ["192.0.2.7"] }];
  return {
    metadata: {
      name,
      uid: `uid-${name}`,
      labels,
      annotations: { "k8s.v1.cni.cncf.io/network-status": JSON.stringify(networks) },
    },
    spec: { nodeName: `node-of-${name}` },
    status: { phase, conditions: phase === "Running" ? [{ type: "Ready", status: "True" }] : [] },
  };
}

describe("the status of an instance", () => {
  it("follows its launcher from nothing to Running to its end", () => {
    const waiting: Launcher = { metadata: { name: "p" } };
    expect(vmiStatus(vmi(), undefined, []).phase).toBe("Pending");
    expect(vmiStatus(vmi(), waiting, [waiting]).phase).toBe("Scheduling");
    expect(vmiStatus(vmi(), pod("p", "Pending"), []).phase).toBe("Scheduled");
    expect(vmiStatus(vmi(), pod("p", "Running"), []).phase).toBe("Running");
    expect(vmiStatus(vmi({ phase: "Running" }), pod("p", "Succeeded"), []).phase).toBe("Succeeded");
    expect(vmiStatus(vmi({ phase: "Running" }), undefined, []).phase).toBe("Failed");
  });

  it("gives the guest the VM's MAC, or else the link's", () => {
    const running = pod("p", "Running");
    expect(vmiStatus(vmi(undefined, "02:00:00:00:00:01"), running, [running]).interfaces).toMatchObject([
      { name: "net1", mac: "02:00:00:00:00:01", ipAddress: "192.0.2.7", podInterfaceName: link },
    ]);
    expect(vmiStatus(vmi(), running, [running]).interfaces).toMatchObject([{ mac: "02:00:00:00:00:99" }]);
  });

  it("leaves out a network whose link the pod has not got yet", () => {
    const running = pod("p", "Running");
    const plugged = vmi();
    const networks = [...(plugged.spec?.networks ?? []), { name: "net2", multus: { networkName: "br2-net" } }];
    const interfaces = [...(plugged.spec?.domain?.devices?.interfaces ?? []), { name: "net2", bridge: {} }];
    const more = { ...plugged, spec: { domain: { devices: { interfaces } }, networks } };
    expect(vmiStatus(more, running, [running]).interfaces).toMatchObject([{ name: "net1" }]);
  });

  it("is about the source until a migration completed, then about the target", () => {
    const pods = [pod("source", "Running"), pod("target", "Running", { "kubevirt.io/migrationJobUID": "m" })];
    const migrationState = { migrationUid: "m", sourceNode: "a", sourcePod: "source", targetPod: "target" };
    expect(activePod(vmi(), pods)?.metadata.name).toBe("source");
    expect(activePod(vmi({ migrationState }), pods)?.metadata.name).toBe("source");
    const done = vmi({ phase: "Running", migrationState: { ...migrationState, completed: true } });
    expect(activePod(done, pods)?.metadata.name).toBe("target");
    expect(vmiStatus(done, activePod(done, pods), pods)).toMatchObject({
      nodeName: "node-of-target",
      activePods: { "uid-source": "node-of-source", "uid-target": "node-of-target" },
    });
  });
});
