/** The netfilter socket, and errors that name the feature that the kernel lacks. */

import { CniError, KERNEL_FEATURE_MISSING } from "../cni/cni-error.ts";
import { OWN_NETNS, type Syscalls } from "../native/syscalls.ts";
import { EAFNOSUPPORT, ENOENT, EOPNOTSUPP, EPROTONOSUPPORT } from "../netlink/errno.ts";
import { errnoOf, NetlinkSocket } from "../netlink/netlink-socket.ts";
import { NETLINK_NETFILTER } from "../netlink/rtnetlink.ts";

/** Errors of a kernel that lacks a part of nftables. */
const MISSING = [EOPNOTSUPP, EAFNOSUPPORT, EPROTONOSUPPORT, ENOENT];

export function openNetfilter(syscalls: Syscalls): NetlinkSocket {
  return new NetlinkSocket(syscalls, OWN_NETNS, 0, NETLINK_NETFILTER);
}

/** The same socket each time, opened when it is wanted first. */
export type LazyNetfilter = () => NetlinkSocket;

export function lazyNetfilter(syscalls: Syscalls): LazyNetfilter {
  let socket: NetlinkSocket | undefined;
  return () => {
    socket ??= openNetfilter(syscalls);
    return socket;
  };
}

function isFeatureMissing(errno: number | undefined): boolean {
  return errno !== undefined && MISSING.includes(errno);
}

/** For the removal of rules: a kernel without the feature has none. `warn`: the configuration asked for them. */
export function unlessFeatureIsMissing(action: () => void, warn?: (text: string) => void): void {
  try {
    action();
  } catch (error) {
    if (!isFeatureMissing(errnoOf(error))) throw error;
    warn?.(`could not look for rules: ${error instanceof Error ? error.message : error}`);
  }
}

/** Replaces the errno by the feature that the kernel lacks. */
export function withFeature<T>(key: string, feature: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!isFeatureMissing(errnoOf(error))) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new CniError(
      KERNEL_FEATURE_MISSING,
      `"${key}" needs ${feature} in the node's kernel, which lacks it: ${message}`,
    );
  }
}
