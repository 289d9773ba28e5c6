/** Directories of the container runtime's CNI files on the nodes, for the components that install plugins there. Pure. */

import type { RenderInput } from "./component.ts";

export const CNI_CONFIG_DIR = "/etc/cni/net.d";
export const DEFAULT_CNI_BIN_DIR = "/opt/cni/bin";
const OPENSHIFT_CNI_BIN_DIR = "/var/lib/cni/bin";

/** A node has one directory of CNI executables, so the setting of linuxBridge holds for every plugin. */
export function cniBinDir({ spec, facts }: RenderInput): string {
  return spec.linuxBridge?.cniBinDir || (facts.openShift ? OPENSHIFT_CNI_BIN_DIR : DEFAULT_CNI_BIN_DIR);
}
