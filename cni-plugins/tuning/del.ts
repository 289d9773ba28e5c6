/**
 * DEL: restores the interface and removes its state. It succeeds when nothing is left to restore. Sysctls end with the
 * container's network namespace.
 */

import { openNetnsIfPresent } from "../cni/netns.ts";
import type { Call } from "../cni/plugin.ts";
import { type Originals, readOriginals, removeState, stateFile } from "../cni/tuning-state.ts";
import { findLink } from "../netlink/link.ts";
import { readDataDir } from "./config.ts";
import { requestOriginals } from "./interface.ts";

export function del(call: Call): undefined {
  const { syscalls, request } = call;
  const netns = openNetnsIfPresent(syscalls, request);
  const file = stateFile(dataDirOf(call), request);
  const originals = readOriginals(syscalls, file);
  if (originals !== undefined && netns !== undefined) {
    const link = findLink(netns.socket, request.ifname);
    if (link !== undefined) restore(call, link.index, originals, netns.socket);
  }
  removeState(syscalls, file);
  call.removeRecord();
}

type Socket = NonNullable<ReturnType<typeof openNetnsIfPresent>>["socket"];

/** What can't be restored does not keep the container from ending. */
function restore({ warn }: Call, index: number, originals: Originals, socket: Socket): void {
  const batch = requestOriginals(socket.batch(), index, originals);
  if (batch.operations.length === 0) return;
  for (const { error } of socket.transact(batch)) if (error !== undefined) warn(error.message);
}

/** Today's configuration may be damaged: the default is where most files are. */
function dataDirOf({ request, warn }: Call): string {
  try {
    return readDataDir(request.config);
  } catch (error) {
    warn(`${error instanceof Error ? error.message : error}`);
    return readDataDir(request.config.object("no such key"));
  }
}
