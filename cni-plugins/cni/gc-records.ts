/** GC of attachment records: an attachment of which nothing is left needs no DEL. */

import { ATTACHMENT_RECORD_DIRECTORY } from "../../src/api/node-state.ts";
import type { Syscalls } from "../native/syscalls.ts";
import { ENOENT } from "../netlink/errno.ts";
import { errnoOf } from "../netlink/netlink-socket.ts";
import { ConfigObject, isJsonObject } from "./config-object.ts";
import { parseObject, readObjects } from "./json-object.ts";
import { type ContainerInterface, isAmong, type Request } from "./request.ts";

/**
 * Removes the records of the plugin's attachments to the network that the runtime does not list. Nothing of them is left
 * then. Records of attachments with addresses stay: the agent's DEL releases what an IPAM plugin's GC does not, such as
 * host-local's.
 */
export function removeStaleRecords(
  { syscalls, request }: { readonly syscalls: Syscalls; readonly request: Request },
  plugin: string,
  valid: readonly ContainerInterface[],
): void {
  for (const { file, content } of readObjects(syscalls, ATTACHMENT_RECORD_DIRECTORY)) {
    const { containerId, ifname, config } = content;
    if (content.plugin !== plugin || content.network !== request.network) continue;
    if (typeof containerId !== "string" || typeof ifname !== "string" || typeof config !== "string") continue;
    if (!isAmong(valid, { containerId, ifname }) && !hasAddresses(config)) removeIfPresent(syscalls, file);
  }
}

function hasAddresses(config: string): boolean {
  const ipam = new ConfigObject(parseObject(() => config) ?? {}).raw("ipam");
  return isJsonObject(ipam) && Object.keys(ipam).length > 0;
}

/** A concurrent DEL may have been faster. */
function removeIfPresent(syscalls: Syscalls, file: string): void {
  try {
    syscalls.removeFile(file);
  } catch (error) {
    if (errnoOf(error) !== ENOENT) throw error;
  }
}
