/** GC: forgets the state of this network's attachments that the runtime does not list. */

import { ENOENT } from "../netlink/errno.ts";
import { errnoOf } from "../netlink/netlink-socket.ts";
import { isJsonObject } from "../protocol/config-object.ts";
import type { Call } from "../protocol/plugin.ts";
import { validAttachments } from "../protocol/request.ts";
import { readDataDir } from "./config.ts";
import { removeState } from "./saved-state.ts";

export function gc({ host, request }: Call): undefined {
  const valid = validAttachments(request.config).map(({ containerId, ifname }) => `${containerId}_${ifname}.json`);
  const dataDir = readDataDir(request.config);
  for (const name of names(() => host.listDirectory(dataDir))) {
    const file = `${dataDir}/${name}`;
    if (!name.endsWith(".json") || valid.includes(name)) continue;
    if (networkOf(() => host.readFile(-1, file)) === request.network) removeState(host, file);
  }
}

function names(list: () => string[]): string[] {
  try {
    return list();
  } catch (error) {
    if (errnoOf(error) === ENOENT) return [];
    throw error;
  }
}

/** The reference plugin's files name none, and stay. */
function networkOf(read: () => string): unknown {
  try {
    const state: unknown = JSON.parse(read());
    return isJsonObject(state) ? state.network : undefined;
  } catch {
    return undefined;
  }
}
