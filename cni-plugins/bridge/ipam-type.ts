/** Which IPAM plugin a configuration names. */

import { CniError, INVALID_CONFIG } from "../cni/cni-error.ts";
import type { ConfigObject } from "../cni/config-object.ts";

/** Names under which nodes have this plugin. As an IPAM plugin it would start itself again and again. */
const OWN_NAMES: readonly unknown[] = ["bridge", "cnv-bridge"];

/** "" for none. */
export function readIpamType(config: ConfigObject): string {
  const type = config.object("ipam").string("type") ?? "";
  if (type === "" || ![config.raw("type"), ...OWN_NAMES].includes(type)) return type;
  throw new CniError(INVALID_CONFIG, `"ipam.type": "${type}" is this plugin itself: name an IPAM plugin`);
}
