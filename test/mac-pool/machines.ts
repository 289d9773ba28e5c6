import type { KubeObject } from "../../src/kube/client/resource.ts";

/** VMs and their instances as tests write them. */

export interface TestInterface {
  readonly name: string;
  readonly macAddress?: string;
  readonly state?: string;
  /** A multus network unless "pod" (masquerade) or "pod-bridge" (none of the pool's business). */
  readonly on?: "pod" | "pod-bridge";
}

export function guestSpec(interfaces: readonly TestInterface[]): Record<string, unknown> {
  return {
    domain: {
      devices: {
        interfaces: interfaces.map(({ on, ...nic }) => ({
          ...nic,
          ...(on === "pod" ? { masquerade: {} } : { bridge: {} }),
        })),
      },
    },
    networks: interfaces.map(({ name, on }) =>
      on === undefined ? { name, multus: { networkName: "br1-net" } } : { name, pod: {} },
    ),
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

/** Addresses that a VM lists, in the order of its interfaces. */
export function macsOf(vm: KubeObject): (string | undefined)[] {
  const spec = vm.spec as { template: { spec: { domain: { devices: { interfaces: { macAddress?: string }[] } } } } };
  return spec.template.spec.domain.devices.interfaces.map(({ macAddress }) => macAddress);
}
