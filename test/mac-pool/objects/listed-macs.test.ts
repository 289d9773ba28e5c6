import { describe, expect, it } from "vitest";
import { formatMac } from "../../../src/api/mac.ts";
import { NETWORKS_ANNOTATION } from "../../../src/api/names.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { MAX_INTERFACES } from "../../../src/mac-pool/claims/limits.ts";
import { instanceMacs, type ListedMac, machineMacs, podMacs } from "../../../src/mac-pool/objects/listed-macs.ts";

const [A, B, C] = ["02:00:00:00:00:0a", "02:00:00:00:00:0b", "02:00:00:00:00:0c"];

const guest = {
  domain: {
    devices: {
      interfaces: [
        { name: "a", macAddress: A, bridge: {} },
        { name: "b", macAddress: B, masquerade: {} },
        { name: "c", macAddress: C, bridge: {} },
      ],
    },
  },
  networks: [
    { name: "a", multus: { networkName: "lab/n" } },
    { name: "b", pod: {} },
    { name: "c", pod: {} },
  ],
};

const meta = (name: string, more: object = {}) => ({ name, namespace: "default", uid: `uid-${name}`, ...more });
const OF_WEB = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "web", uid: "uid-vm" };
const OF_VMI = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: "web", uid: "uid-web" };

const short = (listed: readonly ListedMac[]): string[] =>
  listed.map(({ mac, owner }) => {
    const who = `${owner.kind}/${owner.name}/${owner.uid ?? "?"}`;
    return `${formatMac(mac)} ${who} ${owner.interface}${owner.countsAsOwner ? "" : " (delays only)"}`;
  });

describe("the addresses that an object has", () => {
  it("are those of a VM's masquerade and multus interfaces", () => {
    const vm: KubeObject = { metadata: meta("web"), spec: { template: { spec: guest } } };
    expect(short(machineMacs(vm))).toEqual([`${A} VirtualMachine/web/uid-web a`, `${B} VirtualMachine/web/uid-web b`]);
    expect(machineMacs(vm)[0]?.owner.network).toBe("multus lab/n");
  });

  it("are those of devices that a ResourceClaim allocates, whatever their binding", () => {
    const interfaces = [
      { name: "a", macAddress: A, sriov: {} },
      { name: "b", macAddress: B, binding: { name: "plugged" } },
    ];
    const networks = ["a", "b"].map((name) => ({
      name,
      resourceClaim: { claimName: "nics", requestName: `vf-${name}` },
    }));
    const spec = { template: { spec: { domain: { devices: { interfaces } }, networks } } };
    const listed = machineMacs({ metadata: meta("web"), spec });
    expect(short(listed)).toEqual([`${A} VirtualMachine/web/uid-web a`, `${B} VirtualMachine/web/uid-web b`]);
    expect(listed.map(({ owner }) => owner.network)).toEqual(["resource claim nics/vf-a", "resource claim nics/vf-b"]);
  });

  it("are, for a VMI, those of its VM, what it reports included until an unplugged interface is gone", () => {
    const interfaces = [
      { name: "a", mac: C },
      { name: "left", mac: "02:00:00:00:00:0d" },
      { name: "c", mac: C },
      { mac: B },
    ];
    const vmi = { metadata: meta("web", { ownerReferences: [OF_WEB] }), spec: guest, status: { interfaces } };
    expect(short(instanceMacs(vmi))).toEqual([
      `${A} VirtualMachine/web/uid-vm a`,
      `${B} VirtualMachine/web/uid-vm b`,
      `${C} VirtualMachine/web/uid-vm a`,
      "02:00:00:00:00:0d VirtualMachine/web/uid-vm left (delays only)",
    ]);
    expect(short(instanceMacs({ metadata: meta("web"), spec: guest }))[0]).toBe(
      `${A} VirtualMachineInstance/web/uid-web a`,
    );
  });

  it("are, for a launcher pod, held for its VMI, or for any of that name once the VMI is gone", () => {
    const annotations = { [NETWORKS_ANNOTATION]: JSON.stringify([{ name: "n", mac: A, interface: "pod1" }]) };
    const labels = { "kubevirt.io": "virt-launcher" };
    const pod: KubeObject = {
      metadata: meta("virt-launcher-web-x", { annotations, labels, ownerReferences: [OF_VMI] }),
    };
    const vmi = { metadata: meta("web", { ownerReferences: [OF_WEB] }) };
    expect(short(podMacs(pod, () => vmi))).toEqual([`${A} VirtualMachine/web/uid-vm pod1 (delays only)`]);
    expect(short(podMacs(pod))).toEqual([
      `${A} VirtualMachine/web/? pod1 (delays only)`,
      `${A} VirtualMachineInstance/web/? pod1 (delays only)`,
    ]);
  });

  it("are, for another pod, those it asks for, unless it has ended", () => {
    const annotations = {
      [NETWORKS_ANNOTATION]: JSON.stringify([{ name: "n" }, { name: "m", namespace: "lab", mac: A }]),
    };
    const pod = { metadata: meta("p", { annotations }), status: { phase: "Running" } };
    expect(short(podMacs(pod))).toEqual([`${A} Pod/p/uid-p net2`]);
    expect(podMacs(pod)[0]?.owner.network).toBe("multus lab/m");
    expect(podMacs({ ...pod, status: { phase: "Failed" } })).toEqual([]);
  });

  it("make a pod the owner of as many as an object may have, and keep the rest from others", () => {
    const macAt = (number: number): string => `02:00:00:00:01:${number.toString(16).padStart(2, "0")}`;
    const list = Array.from({ length: 100 }, (_, index) => ({
      name: "n",
      mac: macAt(2 * index),
      "cni-args": { mac: macAt(2 * index + 1) },
    }));
    const annotations = { [NETWORKS_ANNOTATION]: JSON.stringify([{ name: "bare" }, ...list]) };
    const listed = podMacs({ metadata: meta("p", { annotations }) });
    expect(listed.map(({ mac }) => formatMac(mac))).toEqual(Array.from({ length: 200 }, (_, index) => macAt(index)));
    expect(listed.findIndex(({ owner }) => !owner.countsAsOwner)).toBe(MAX_INTERFACES);
    expect(listed.filter(({ owner }) => owner.countsAsOwner)).toHaveLength(MAX_INTERFACES);
  });
});
