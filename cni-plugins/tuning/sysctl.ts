/** Sysctls of the container's network namespace, and the administrator's allow-list. */

import { CniError, INVALID_CONFIG, KERNEL_REFUSED } from "../cni/cni-error.ts";
import { OWN_NETNS, type Syscalls } from "../native/syscalls.ts";
import { ENOENT } from "../netlink/errno.ts";
import { errnoOf } from "../netlink/netlink-socket.ts";
import { sysctlRefusal } from "./refusal.ts";

export interface Sysctl {
  /** As the configuration spells it. */
  readonly key: string;
  readonly path: string;
  readonly value: string;
}

const ALLOW_LIST = "/etc/cni/tuning/allowlist.conf";
const ROOT = "/proc/sys/";

/** Dots and slashes separate; the first IFNAME is the container's interface. Only keys of the network are taken. */
export function sysctlOf(key: string, value: string, ifname: string): Sysctl {
  const names = key.replaceAll(".", "/").split("/");
  const path = names.filter((name) => name !== "").join("/");
  const [first, ...rest] = path.split("/");
  if (first !== "net" || rest.length === 0) {
    throw new CniError(
      INVALID_CONFIG,
      `"sysctl": invalid net sysctl key "${key}": only keys below net may be set, such as net.ipv4.conf.IFNAME.arp_notify`,
    );
  }
  return { key, path: ROOT + path.replace("IFNAME", () => ifname), value };
}

/**
 * Throws for the first sysctl that no line of the allow-list matches: a regular expression a line, as for the reference
 * plugin. A missing list allows all.
 */
export function requireAllowed(syscalls: Syscalls, sysctls: readonly Sysctl[]): void {
  const list = sysctls.length === 0 ? undefined : readAllowList(syscalls);
  if (list === undefined) return;
  const lines = list.split("\n").map((line) => line.trim());
  const given = lines.filter((line) => line !== "");
  for (const { key } of sysctls) requireAllowedKey(syscalls, key, given);
}

/** A line that no key comes to is not looked at, as in the reference: what it is does not matter. */
function requireAllowedKey(syscalls: Syscalls, key: string, lines: readonly string[]): void {
  for (const line of lines) {
    try {
      if (syscalls.matches(line, key)) return;
    } catch (error) {
      throw new CniError(
        INVALID_CONFIG,
        `${ALLOW_LIST}: "${line}" is not a regular expression: have the node's administrator correct it`,
        error instanceof Error ? error.message : String(error),
      );
    }
  }
  throw new CniError(
    INVALID_CONFIG,
    `sysctl "${key}" is not allowed on this node: remove it, or have the node's administrator add it to ${ALLOW_LIST}`,
    `allowed: ${lines.join(", ") || "none"}`,
  );
}

function readAllowList(syscalls: Syscalls): string | undefined {
  try {
    return syscalls.readFile(OWN_NETNS, ALLOW_LIST);
  } catch (error) {
    if (errnoOf(error) === ENOENT) return undefined;
    throw error;
  }
}

/** Undefined for one that can't be read: some can only be written. */
export function readSysctl(syscalls: Syscalls, netns: number, { path }: Sysctl): string | undefined {
  try {
    return syscalls.readFile(netns, path);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

export function writeSysctl(syscalls: Syscalls, netns: number, { key, path }: Sysctl, value: string): void {
  try {
    syscalls.writeFile(netns, path, value);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    const problem = sysctlRefusal(errno);
    throw new CniError(KERNEL_REFUSED, `cannot set sysctl "${key}" to "${value}": ${problem}`);
  }
}

/** The kernel prints several numbers with tabs between them and ends in a newline. */
export function sameSysctlValue(a: string, b: string): boolean {
  return words(a) === words(b);
}

function words(text: string): string {
  return text
    .replaceAll("\t", " ")
    .replaceAll("\n", " ")
    .split(" ")
    .filter((word) => word !== "")
    .join(" ");
}
