/**
 * The script that becomes a real node's pid 1: it lays out the node's root file system and then only reaps orphans. What
 * is on the node's disk outlives its reboots, the rest is on a tmpfs of its own. The machine's /usr is the node's, and so are
 * the programs that were fetched.
 */
import { baseTree, bindTree, enterTree } from "../cluster/base-tree.ts";
import { shellQuote } from "../cluster/command.ts";
import { fetchedRoots } from "../tools/debian/programs.ts";
import type { NodeDirectories } from "./distributions.ts";
import { PROGRAM_DIRECTORY } from "./node-config.ts";

export interface NodeRoot {
  readonly name: string;
  /** An empty directory. */
  readonly mountPoint: string;
  /** Directory of the node's disk; holds `diskDirectories`. */
  readonly disk: string;
  /** The node's programs: file name there, executable here. */
  readonly programs: Readonly<Record<string, string>>;
  readonly directories: NodeDirectories;
}

/** What a node keeps over a reboot, below its root. */
export function diskDirectories({ disk }: NodeDirectories): string[] {
  return ["etc/cni", "etc/containerd", "etc/kubernetes", "var/lib", "var/log", ...disk];
}

/** Exists when the node's file system is complete. */
export const BOOTED_FILE = "/run/booted";

/** Kernel settings that a kubelet writes; they belong to the whole machine, so the node gets files in their place. */
const MACHINE_SETTINGS = [
  "kernel/keys/root_maxbytes",
  "kernel/keys/root_maxkeys",
  "kernel/panic",
  "kernel/panic_on_oops",
  "vm/overcommit_memory",
  "vm/panic_on_oom",
];
const DEVICES = ["kmsg", "net/tun", "fuse"];

export function nodeScript({ name, mountPoint, disk, programs, directories }: NodeRoot): string {
  const netns = directories.hasOwnVarRun ? "/var/run/netns" : "/run/netns";
  const below = (path: string): string => path.slice(1);
  return [
    "set -e",
    "umask 022",
    `mount -t tmpfs -o mode=755 node ${shellQuote(mountPoint)}`,
    `cd ${shellQuote(mountPoint)}`,
    ...baseTree({ hostname: name, hosts: [] }),
    "mount --rbind /sys/fs/cgroup sys/fs/cgroup",
    "mkdir -p dev/net",
    ...DEVICES.flatMap((device) => [
      `if [ -e /dev/${device} ]; then : > dev/${device}; mount --bind /dev/${device} dev/${device}; fi`,
    ]),
    ...diskDirectories(directories).flatMap((directory) => bindTree(`${disk}/${directory}`, directory, false)),
    ...Object.entries(programs).flatMap(([program, file]) =>
      bindTree(file, `${below(PROGRAM_DIRECTORY)}/${program}`, true, true),
    ),
    ...fetchedRoots().flatMap((root) => bindTree(root, below(root), true)),
    `mkdir -p ${below(directories.cniBinDir)} ${below(directories.cniConfigDir)} run/netns run/lock`,
    ...(directories.hasOwnVarRun ? ["rm var/run; mkdir -p var/run/netns"] : []),
    ...bindTree(`${disk}/etc/os-release`, "etc/os-release", true, true),
    ...MACHINE_SETTINGS.flatMap((setting) => [
      `mkdir -p run/machine-settings/${setting}`,
      `cat /proc/sys/${setting} > run/machine-settings/${setting}/value`,
      `mount --bind run/machine-settings/${setting}/value proc/sys/${setting}`,
    ]),
    ...enterTree(),
    ...readOnlyRoot(directories),
    "mount --make-rshared /",
    // As iproute2 and container runtimes have it.
    `mount --bind ${netns} ${netns}`,
    "echo 1 > /proc/sys/net/ipv4/ip_forward",
    `: > ${BOOTED_FILE}`,
    // In the foreground of a shell: pid 1 has to reap orphans.
    "while :; do sleep 86400; done",
  ].join("\n");
}

/** Mounts of their own stay as they are. */
function readOnlyRoot({ writable }: NodeDirectories): string[] {
  if (writable === undefined) return [];
  return [...writable.map((path) => `mount --rbind ${path} ${path}`), "mount -o remount,bind,ro /"];
}
