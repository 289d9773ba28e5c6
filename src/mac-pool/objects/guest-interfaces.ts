import { SECONDARY_NETWORKS } from "../../api/mac-pool-scope.ts";
import { at, fieldOf, listAt, textAt } from "../../kube/json-path.ts";
import type { RequestedInterface } from "../admission/interface-plan.ts";

/** Where a VirtualMachine keeps the spec of its instances. */
export const VM_TEMPLATE_SPEC = ["spec", "template", "spec"] as const;
/** Where a VirtualMachineInstance keeps the same. */
export const INSTANCE_SPEC = ["spec"] as const;
/** Inside of either. */
export const INTERFACES = ["domain", "devices", "interfaces"] as const;

/**
 * The interfaces of a VM or VMI. The pool gives an address to masquerade interfaces and to those on a secondary network,
 * whatever the binding: one of multus, or a device that a ResourceClaim allocates. The interface and its network have the
 * same name.
 */
export function guestInterfaces(object: unknown, specPath: readonly string[]): RequestedInterface[] {
  const spec = at(object, ...specPath);
  const entries = listAt(spec, ...INTERFACES);
  if (entries.length === 0) return [];
  const networks = new Map<string, unknown>();
  for (const network of listAt(spec, "networks")) {
    const name = textAt(network, "name");
    if (name !== "" && !networks.has(name)) networks.set(name, network);
  }
  return entries.map((entry, index) => {
    const name = textAt(entry, "name");
    const network = networks.get(name);
    const secondary = SECONDARY_NETWORKS.some((source) => fieldOf(network, source) !== undefined);
    const masquerade = (fieldOf(entry, "masquerade") ?? null) !== null;
    return {
      index,
      name,
      network: networkName(network),
      mac: textAt(entry, "macAddress"),
      eligible: secondary || masquerade,
      absent: textAt(entry, "state") === "absent",
    };
  });
}

function networkName(network: unknown): string | undefined {
  const multus = textAt(network, "multus", "networkName");
  if (multus !== "") return `multus ${multus}`;
  const claim = textAt(network, "resourceClaim", "claimName");
  if (claim !== "") return `resource claim ${claim}/${textAt(network, "resourceClaim", "requestName")}`;
  return fieldOf(network, "pod") === undefined ? undefined : "pod network";
}
