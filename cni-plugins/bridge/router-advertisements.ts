/** Router advertisements, by which a kernel takes addresses and routes from the network: on the node, and in the container. */

import { CniError, KERNEL_REFUSED } from "../cni/cni-error.ts";
import { OWN_NETNS, type Syscalls } from "../native/syscalls.ts";
import { describeErrno, ENOENT, EROFS } from "../netlink/errno.ts";
import { errnoOf } from "../netlink/netlink-socket.ts";

/** A node must not take routes from what its containers announce. */
export function ignoreRouterAdvertisements(syscalls: Syscalls, ifname: string): void {
  try {
    syscalls.writeFile(OWN_NETNS, `/proc/sys/net/ipv6/conf/${ifname}/accept_ra`, "0");
  } catch {
    // Without IPv6 there is nothing to switch off, and a read-only /proc gives no way to do it.
  }
}

/** The first for advertisements as a whole, the second for addresses from them. */
const SETTINGS = ["accept_ra", "autoconf"];

/** `"acceptRa": false`. Before the interface comes up, which asks for advertisements. */
export function switchOffAdvertisements(syscalls: Syscalls, netns: number, ifname: string): void {
  for (const setting of SETTINGS) {
    const value = readSetting(syscalls, netns, ifname, setting);
    if (value === undefined || value === "0") continue;
    try {
      syscalls.writeFile(netns, pathOf(ifname, setting), "0");
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      const advice =
        errno === EROFS ? "the runtime must start its plugins where /proc/sys is writable" : 'remove "acceptRa"';
      throw new CniError(
        KERNEL_REFUSED,
        `"acceptRa": false can't set ${nameOf(ifname, setting)} to 0: ${describeErrno(errno)}: ${advice}`,
      );
    }
  }
}

/** CHECK: which of the settings is on again; undefined when none is. */
export function advertisementFault(syscalls: Syscalls, netns: number, ifname: string): string | undefined {
  for (const setting of SETTINGS) {
    const value = readSetting(syscalls, netns, ifname, setting);
    if (value !== undefined && value !== "0") return `${nameOf(ifname, setting)} is ${value}, not 0`;
  }
  return undefined;
}

/** Undefined where the interface has no IPv6: the kernel lacks it, or the MTU is too small for it. */
function readSetting(syscalls: Syscalls, netns: number, ifname: string, setting: string): string | undefined {
  try {
    return syscalls.readFile(netns, pathOf(ifname, setting)).trim();
  } catch (error) {
    if (errnoOf(error) === ENOENT) return undefined;
    throw error;
  }
}

const pathOf = (ifname: string, setting: string) => `/proc/sys/net/ipv6/conf/${ifname}/${setting}`;
const nameOf = (ifname: string, setting: string) => `net.ipv6.conf.${ifname}.${setting}`;
