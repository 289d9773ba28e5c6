import { at, fieldOf, listAt, textAt } from "../../kube/json-path.ts";
import type { RequestedInterface } from "../core/interface-plan.ts";

/** Where a VirtualMachine keeps the spec of its instances. */
export const VM_TEMPLATE_SPEC = ["spec", "template", "spec"] as const;
/** Where a VirtualMachineInstance keeps the same. */
export const INSTANCE_SPEC = ["spec"] as const;
/** Inside of either. */
export const INTERFACES = ["domain", "devices", "interfaces"] as const;

/**
 * The interfaces of a VM or VMI. The pool gives an address to masquerade interfaces and to those on a multus network,
 * whatever the binding; the interface and its network have the same name.
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
    const multus = fieldOf(network, "multus") !== undefined;
    const masquerade = (fieldOf(entry, "masquerade") ?? null) !== null;
    return {
      index,
      name,
      network: networkName(network),
      mac: textAt(entry, "macAddress"),
      eligible: multus || masquerade,
      absent: textAt(entry, "state") === "absent",
    };
  });
}

function networkName(network: unknown): string | undefined {
  const multus = textAt(network, "multus", "networkName");
  if (multus !== "") return `multus ${multus}`;
  return fieldOf(network, "pod") === undefined ? undefined : "pod network";
}
