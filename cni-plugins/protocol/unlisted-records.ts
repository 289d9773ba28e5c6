/** GC of the agent's records: what nothing is left of needs no DEL any more. */

import { type Host, OWN_NETNS } from "../host/host.ts";
import { ENOENT } from "../netlink/errno.ts";
import { errnoOf } from "../netlink/netlink-socket.ts";
import { RECORD_DIRECTORY } from "./attachment-record.ts";
import { ConfigObject, isJsonObject, type JsonObject } from "./config-object.ts";
import { parseObject } from "./json-object.ts";
import type { Request } from "./request.ts";

/** The files of a folder that hold a JSON object; none when it is not there. */
export function readObjects(host: Host, folder: string): { readonly file: string; readonly content: JsonObject }[] {
  return namesIn(host, folder).flatMap((name) => {
    const file = `${folder}/${name}`;
    const content = name.endsWith(".json") ? parseObject(() => host.readFile(OWN_NETNS, file)) : undefined;
    return content === undefined ? [] : [{ file, content }];
  });
}

/**
 * Forgets the plugin's attachments to the request's network that the runtime does not list, once nothing of them is left.
 * Those with addresses stay: the agent's DEL releases what an IPAM plugin's GC does not, as host-local's.
 */
export function forgetUnlisted(
  { host, request }: { readonly host: Host; readonly request: Request },
  plugin: string,
  isListed: (one: { readonly containerId: string; readonly ifname: string }) => boolean,
): void {
  for (const { file, content } of readObjects(host, RECORD_DIRECTORY)) {
    const { containerId, ifname, config } = content;
    if (content.plugin !== plugin || content.network !== request.network) continue;
    if (typeof containerId !== "string" || typeof ifname !== "string" || typeof config !== "string") continue;
    if (!isListed({ containerId, ifname }) && !hasAddresses(config)) removeIfPresent(host, file);
  }
}

function hasAddresses(config: string): boolean {
  const ipam = new ConfigObject(parseObject(() => config) ?? {}).raw("ipam");
  return isJsonObject(ipam) && Object.keys(ipam).length > 0;
}

/** A DEL beside it may have been faster. */
function removeIfPresent(host: Host, file: string): void {
  try {
    host.removeFile(file);
  } catch (error) {
    if (errnoOf(error) !== ENOENT) throw error;
  }
}

function namesIn(host: Host, folder: string): string[] {
  try {
    return host.listDirectory(folder);
  } catch (error) {
    if (errnoOf(error) === ENOENT) return [];
    throw error;
  }
}
