/** What to do about a value that the kernel refused. */

import { formatMacAddress } from "../cni/mac-address.ts";
import { describeErrno, EACCES, ENODEV, ENOENT, ENOMEM, EPERM, EROFS } from "../netlink/errno.ts";
import { getLink, type Link } from "../netlink/link.ts";
import { readMtuRange } from "../netlink/link-tuning.ts";
import type { NetlinkError, NetlinkSocket } from "../netlink/netlink-socket.ts";
import type { TuningConfig } from "./config.ts";

/** Every node has memory for a queue of this length. */
const TX_QUEUE_LENGTH_USABLE = 1_000_000;

export interface Refusal {
  readonly message: string;
  /** The value is wrong, although the errno is one that usually goes away. */
  readonly isFinal: boolean;
}

/** `at`: which request of `requestTuning` was refused. */
export function interfaceRefusal(
  socket: NetlinkSocket,
  { name }: Link,
  config: TuningConfig,
  at: number,
  { errno, message }: NetlinkError,
): Refusal {
  const [key, value] = changesOf(config)[at] ?? ["", ""];
  const advice = errno === ENODEV ? "it was deleted during the ADD" : interfaceAdvice(socket, name, key, Number(value));
  return {
    message: `"${key}": ${value} can't be set on interface ${name}: ${message}: ${advice}`,
    isFinal: errno === ENOMEM && key === "txQLen" && Number(value) > TX_QUEUE_LENGTH_USABLE,
  };
}

export function sysctlRefusal(errno: number): string {
  if (errno === ENOENT) {
    return "there is no such sysctl in the container's network namespace: correct the key (IFNAME stands for the container's interface), or load the kernel module that has it on the node";
  }
  return `${describeErrno(errno)}: ${sysctlAdvice(errno)}`;
}

function sysctlAdvice(errno: number): string {
  if (errno === EACCES || errno === EPERM) return "remove it: it can't be written in a container";
  if (errno === EROFS) return "the runtime must start its plugins where /proc/sys is writable";
  return "write a value that this sysctl accepts";
}

/** In the order of `requestTuning`. */
function changesOf({ mac, promiscuous, mtu, allMulticast, txQueueLength }: TuningConfig): [string, unknown][] {
  const changes: [string, unknown][] = [
    ["mac", mac === undefined ? undefined : formatMacAddress(mac)],
    ["promisc", promiscuous || undefined],
    ["mtu", mtu],
    ["allmulti", allMulticast],
    ["txQLen", txQueueLength],
  ];
  return changes.filter(([, value]) => value !== undefined);
}

function interfaceAdvice(socket: NetlinkSocket, name: string, key: string, value: number): string {
  if (key === "txQLen") return `write a number from 0 to ${TX_QUEUE_LENGTH_USABLE}; the kernel's default is 1000`;
  if (key === "mac") return "choose another address, or set it in the plugin that makes the interface";
  if (key !== "mtu") return `its driver has no such mode: remove "${key}"`;
  const [answer] = socket.transact(getLink(socket.batch(), name));
  const message = answer?.messages[0];
  const { minimum, maximum } = message === undefined ? { minimum: 0, maximum: 0 } : readMtuRange(message);
  if (maximum === 0 || (minimum <= value && value <= maximum))
    return "write a number that the device below it accepts too";
  return `write a number from ${minimum} to ${maximum}`;
}
