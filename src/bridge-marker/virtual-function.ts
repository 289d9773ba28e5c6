import { existsSync } from "node:fs";
import { join } from "node:path";

const INTERFACES = "/sys/class/net";

/**
 * Whether an interface is a virtual function of SR-IOV: its device points to the physical one. A pod on the node's network
 * sees the node's interfaces in sysfs, and needs no right for it.
 */
export function isVirtualFunction(name: string, interfaces = INTERFACES): boolean {
  return existsSync(join(interfaces, name, "device", "physfn"));
}
