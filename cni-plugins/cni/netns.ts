/** Opens the container's network namespace. */

import type { Syscalls } from "../native/syscalls.ts";
import { describeErrno, EINVAL, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR, ENXIO } from "../netlink/errno.ts";
import { errnoOf, NetlinkSocket } from "../netlink/netlink-socket.ts";
import { CniError, INVALID_ENVIRONMENT, INVALID_NETNS, NETNS_UNUSABLE } from "./cni-error.ts";
import type { Request } from "./request.ts";

export interface Netns {
  readonly fd: number;
  readonly socket: NetlinkSocket;
}

/** Throws the protocol's errors for a path that is gone, is no namespace, or is the plugin's own. */
export function openNetns(syscalls: Syscalls, { netns, netnsOverride }: Request): Netns {
  let fd: number;
  try {
    fd = syscalls.openNetns(netns);
  } catch (error) {
    throw unusable(netns, error);
  }
  if (isOwn(syscalls, fd) && !netnsOverride) {
    syscalls.close(fd);
    throw new CniError(
      INVALID_NETNS,
      `CNI_NETNS "${netns}" is the plugin's own network namespace: nothing was changed`,
    );
  }
  try {
    return { fd, socket: new NetlinkSocket(syscalls, fd) };
  } catch (error) {
    syscalls.close(fd);
    throw unusable(netns, error);
  }
}

function isOwn(syscalls: Syscalls, fd: number): boolean {
  try {
    return syscalls.isOwnNetns(fd);
  } catch (error) {
    syscalls.close(fd);
    if (errnoOf(error) !== ENOENT) throw error;
    throw new CniError(INVALID_ENVIRONMENT, "/proc is not mounted where the plugin runs: mount it there", `${error}`);
  }
}

/** As `openNetns`; undefined when there is no such namespace any more. */
export function openNetnsIfPresent(syscalls: Syscalls, request: Request): Netns | undefined {
  if (request.netns === "") return undefined;
  try {
    return openNetns(syscalls, request);
  } catch (error) {
    if (error instanceof NetnsGone) return undefined;
    throw error;
  }
}

class NetnsGone extends CniError {}

/** Errors of a path that leads nowhere. */
const NOWHERE = [ENOENT, ENOTDIR, ENAMETOOLONG, ELOOP];

/** Errors of what is something else than a network namespace. */
const NO_NETNS = [EINVAL, ENXIO];

function unusable(path: string, error: unknown): unknown {
  const errno = errnoOf(error);
  if (errno === undefined) return error;
  if (NOWHERE.includes(errno))
    return new NetnsGone(
      NETNS_UNUSABLE,
      `network namespace "${path}" not found: the container is gone or the path is wrong`,
    );
  if (NO_NETNS.includes(errno))
    return new NetnsGone(NETNS_UNUSABLE, `"${path}" in CNI_NETNS is not a network namespace`);
  return new CniError(NETNS_UNUSABLE, `cannot open network namespace "${path}": ${describeErrno(errno)}`);
}
