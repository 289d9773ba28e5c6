/** Opens the container's network namespace. */

import type { Host } from "../host/host.ts";
import { describeErrno, EINVAL, ENOENT } from "../netlink/errno.ts";
import { errnoOf, NetlinkSocket } from "../netlink/netlink-socket.ts";
import { CniError, INVALID_NETNS, NETNS_UNUSABLE } from "../protocol/cni-error.ts";
import type { Request } from "../protocol/request.ts";

export interface Netns {
  readonly fd: number;
  readonly socket: NetlinkSocket;
}

/** Throws the protocol's errors for a path that is gone, is no namespace, or is the plugin's own. */
export function openNetns(host: Host, { netns, netnsOverride }: Request): Netns {
  let fd: number;
  try {
    fd = host.openNetns(netns);
  } catch (error) {
    throw unusable(netns, error);
  }
  if (!netnsOverride && host.isOwnNetns(fd)) {
    host.close(fd);
    throw new CniError(
      INVALID_NETNS,
      `CNI_NETNS "${netns}" is the plugin's own network namespace: nothing was changed`,
    );
  }
  try {
    return { fd, socket: new NetlinkSocket(host, fd) };
  } catch (error) {
    host.close(fd);
    throw unusable(netns, error);
  }
}

/** As `openNetns`; undefined when there is no such namespace any more. */
export function openNetnsIfPresent(host: Host, request: Request): Netns | undefined {
  if (request.netns === "") return undefined;
  try {
    return openNetns(host, request);
  } catch (error) {
    if (error instanceof NetnsGone) return undefined;
    throw error;
  }
}

class NetnsGone extends CniError {}

function unusable(path: string, error: unknown): unknown {
  const errno = errnoOf(error);
  if (errno === ENOENT)
    return new NetnsGone(
      NETNS_UNUSABLE,
      `network namespace "${path}" not found: the container is gone or the path is wrong`,
    );
  if (errno === EINVAL) return new NetnsGone(NETNS_UNUSABLE, `"${path}" in CNI_NETNS is not a network namespace`);
  if (errno === undefined) return error;
  return new CniError(NETNS_UNUSABLE, `cannot open network namespace "${path}": ${describeErrno(errno)}`);
}
