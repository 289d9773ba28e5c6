import { WAIT_AS_RECEIVER } from "../../src/api/mac-pool-scope.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import { RECEIVER_ANNOTATION } from "../cluster/kubevirt/instance.ts";

/** VMs and their instances as tests write them. */

export interface TestInterface {
  readonly name: string;
  readonly macAddress?: string;
  readonly state?: string;
  /** Of multus; "br1-net" by default. */
  readonly network?: string;
  /** A multus network unless "pod" (masquerade), "pod-bridge" (not managed by the pool) or "claim" (a device by DRA). */
  readonly on?: "pod" | "pod-bridge" | "claim";
}

const BINDINGS = {
  multus: { bridge: {} },
  pod: { masquerade: {} },
  "pod-bridge": { bridge: {} },
  claim: { sriov: {} },
};

export function guestSpec(interfaces: readonly TestInterface[]): Record<string, unknown> {
  return {
    domain: {
      devices: {
        interfaces: interfaces.map(({ on, network: _network, ...nic }) => ({
          ...nic,
          ...BINDINGS[on ?? "multus"],
        })),
      },
    },
    networks: interfaces.map(({ name, on, network = "br1-net" }) => {
      if (on === undefined) return { name, multus: { networkName: network } };
      return on === "claim" ? { name, resourceClaim: { claimName: "nics", requestName: name } } : { name, pod: {} };
    }),
  };
}

export function machine(
  name: string,
  namespace: string,
  interfaces: readonly TestInterface[],
  labels: Record<string, string> = {},
): KubeObject {
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachine",
    metadata: { name, namespace, labels },
    spec: { runStrategy: "Halted", template: { spec: guestSpec(interfaces) } },
  };
}

/** What virt-controller makes when the VM starts. */
export function instanceOf(vm: KubeObject): KubeObject {
  const { name = "", namespace = "", uid = "" } = vm.metadata;
  const ownerReferences = [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name, uid, controller: true }];
  const { spec } = (vm.spec as { template: { spec: object } }).template;
  const waits = (vm.spec as { runStrategy?: string }).runStrategy === WAIT_AS_RECEIVER;
  const annotations = waits ? { [RECEIVER_ANNOTATION]: "true" } : {};
  return { metadata: { name, namespace, ownerReferences, annotations }, spec };
}

/** Addresses that a VM lists, in the order of its interfaces. */
export function macsOf(vm: KubeObject): (string | undefined)[] {
  const spec = vm.spec as { template: { spec: { domain: { devices: { interfaces: { macAddress?: string }[] } } } } };
  return spec.template.spec.domain.devices.interfaces.map(({ macAddress }) => macAddress);
}
