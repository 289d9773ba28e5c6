import { describe, expect, it } from "vitest";
import { NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION } from "../../../src/api/names.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { SharedValues } from "../../../src/mac-pool/cluster/shared-values.ts";
import { instanceMacs, machineMacs } from "../../../src/mac-pool/objects/listed-macs.ts";
import { macsOfRunningInstance, macsOfRunningPod, runningInstance } from "../../../src/mac-pool/objects/running.ts";
import { slimInstance } from "../../../src/mac-pool/objects/slim.ts";

const vmi = (status: object): KubeObject => ({
  metadata: { namespace: "default", name: "web", uid: "u1" },
  spec: {
    domain: { devices: { interfaces: [{ name: "a" }, { name: "default", bridge: {} }] } },
    networks: [
      { name: "a", multus: { networkName: "n" } },
      { name: "default", pod: {} },
    ],
  },
  status,
});
const pod = (annotations: Record<string, string>, more: object = {}): KubeObject => ({
  metadata: { namespace: "default", name: "web", annotations },
  ...more,
});

describe("addresses that are on the network", () => {
  it("are those that a VMI reports for interfaces of ours, unplugged ones included, until it has ended", () => {
    const interfaces = [
      { name: "a", mac: "02-00-00-00-00-0A" },
      { name: "gone", mac: "02:00:00:00:00:0b" },
      { name: "default", mac: "02:00:00:00:00:0c" },
      { mac: "02:00:00:00:00:0d" },
      { name: "odd", mac: "no address" },
    ];
    expect(macsOfRunningInstance(vmi({ phase: "Running", interfaces }))).toEqual([
      "02:00:00:00:00:0a",
      "02:00:00:00:00:0b",
    ]);
    expect(macsOfRunningInstance(vmi({ phase: "Succeeded", interfaces }))).toEqual([]);
    expect(macsOfRunningInstance(vmi({}))).toEqual([]);
  });

  it("are not those of the pod network, unless the binding is masquerade, as primary networks reuse addresses", () => {
    const mac = "02:00:00:00:00:01";
    const bindings = [{ masquerade: {} }, { bridge: {} }, { passt: {} }, { binding: { name: "l2bridge" } }];
    const listed = bindings.map((binding) => {
      const interfaces = [{ name: "default", macAddress: mac, ...binding }];
      const spec = { domain: { devices: { interfaces } }, networks: [{ name: "default", pod: {} }] };
      const metadata = { name: "web", namespace: "default", uid: "1" };
      const vmi = { metadata, spec, status: { phase: "Running", interfaces: [{ name: "default", mac }] } };
      const vm = { metadata, spec: { template: { spec } } };
      return [macsOfRunningInstance(vmi), instanceMacs(vmi), machineMacs(vm)].map(({ length }) => length);
    });
    expect(listed).toEqual([
      [1, 1, 1],
      [0, 0, 0],
      [0, 0, 0],
      [0, 0, 0],
    ]);
  });

  it("are those that a pod asked for or was given, except on the default network and those of launchers", () => {
    const annotations = {
      [NETWORKS_ANNOTATION]: '[{"name":"n","mac":"02:00:00:00:00:01"}]',
      [NETWORK_STATUS_ANNOTATION]:
        '[{"name":"cni","default":true,"mac":"02:00:00:00:00:02"},{"name":"n","mac":"02:00:00:00:00:03"}]',
    };
    expect(macsOfRunningPod(pod(annotations))).toEqual(["02:00:00:00:00:01", "02:00:00:00:00:03"]);
    expect(macsOfRunningPod(pod(annotations, { status: { phase: "Failed" } }))).toEqual([]);
    expect(macsOfRunningPod(pod({ [NETWORK_STATUS_ANNOTATION]: "{" }))).toEqual([]);
    const { metadata, ...more } = pod(annotations);
    const labelled = { ...metadata, labels: { "kubevirt.io": "virt-launcher" } };
    const ownerReferences = [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: "web", uid: "1" }];
    expect(macsOfRunningPod({ ...more, metadata: { ...labelled, ownerReferences } })).toEqual([]);
    // A label makes no launcher.
    expect(macsOfRunningPod({ ...more, metadata: labelled })).toHaveLength(2);
  });

  it("belong to a ref that knows its live migrations, also as the caches keep it", () => {
    const migrationState = {
      migrationUid: "m1",
      sourceState: { migrationUID: "m2", pod: "p" },
      targetState: { migrationUID: "m3" },
    };
    expect(runningInstance(slimInstance(vmi({ migrationState }), new SharedValues()))).toMatchObject({
      migrations: ["m1", "m2", "m3"],
    });
    expect(runningInstance(slimInstance(vmi({}), new SharedValues()))).toMatchObject({
      name: "web",
      uid: "u1",
      migrations: [],
    });
  });
});
