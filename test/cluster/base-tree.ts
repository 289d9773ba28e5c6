/**
 * A small root file system, laid out by a shell on a fresh tmpfs: the machine's /usr read-only, everything else its own.
 * Nodes live in one, and each container in one of its own.
 */
import { shellQuote } from "./command.ts";

export interface BaseTree {
  readonly hostname: string;
  /** Lines of /etc/hosts besides localhost. */
  readonly hosts: readonly string[];
}

const USERS = ["root:x:0:0:root:/root:/bin/sh", "nobody:x:65534:65534:nobody:/:/bin/sh"];
const DEVICES = "null zero full random urandom tty";

/** Shell lines. Expect an empty tmpfs as current directory, and fresh mount, PID and UTS namespaces. */
export function baseTree({ hostname, hosts }: BaseTree): string[] {
  const file = (path: string, lines: readonly string[]): string =>
    `printf '%s\\n' ${lines.map(shellQuote).join(" ")} > ${path}`;
  return [
    "mkdir -p usr proc sys dev etc run var/lib var/log tmp root home opt mnt",
    "chmod 1777 tmp",
    "ln -s ../run var/run",
    ...bindTree("/usr", "usr", true),
    // Where /usr is not merged these are directories of their own.
    'for d in bin sbin lib lib32 lib64; do if [ -L "/$d" ]; then ln -s "$(readlink "/$d")" "$d"; elif [ -d "/$d" ]; then mkdir "$d"; mount --rbind "/$d" "$d"; fi; done',
    "if [ -e /etc/ld.so.cache ]; then cp /etc/ld.so.cache etc/; fi",
    "if [ -d /etc/alternatives ]; then cp -RP /etc/alternatives etc/; fi",
    "mount -t proc proc proc",
    "mount -t sysfs sysfs sys",
    // Without the mode a redirection to /dev/null is refused.
    "mount -t tmpfs -o mode=755 dev dev",
    `for d in ${DEVICES}; do : > "dev/$d"; mount --bind "/dev/$d" "dev/$d"; done`,
    "mkdir -m 1777 dev/shm",
    "mkdir dev/pts",
    "mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts",
    "ln -s pts/ptmx dev/ptmx",
    "ln -s /proc/self/fd dev/fd",
    "ln -s /proc/self/fd/1 dev/stdout",
    "ln -s /proc/self/fd/2 dev/stderr",
    file("etc/passwd", USERS),
    file("etc/group", ["root:x:0:", "nogroup:x:65534:"]),
    file("etc/hosts", ["127.0.0.1 localhost", ...hosts]),
    file("etc/nsswitch.conf", ["hosts: files"]),
    ": > etc/resolv.conf",
    `hostname ${shellQuote(hostname)}`,
  ];
}

/** Shell lines that show the directory or file `source` at `target`, which is below the current directory. */
export function bindTree(source: string, target: string, readOnly: boolean, isFile = false): string[] {
  const [from, to] = [shellQuote(source), shellQuote(target)];
  const parent = target.includes("/") ? target.slice(0, target.lastIndexOf("/")) : ".";
  return [
    isFile ? `mkdir -p ${shellQuote(parent)}; [ -e ${to} ] || : > ${to}` : `mkdir -p ${to}`,
    `mount --rbind ${from} ${to}`,
    ...(readOnly ? [`mount -o remount,bind,ro ${to}`] : []),
  ];
}

/** Shell lines that make the current directory the root and forget the old one. */
export const enterTree = (): string[] => ["pivot_root . .", "umount -l .", "cd /"];
