/** The script that becomes a node's pid 1: it lays out the node's own root file system and starts the process node. */
import { dirname, join } from "node:path";
import { IMAGE_NODE } from "../../src/api/image.ts";
import { baseTree, bindTree, enterTree } from "./base-tree.ts";
import { shellQuote } from "./command.ts";

export interface NodeRoot {
  readonly name: string;
  /** An empty directory. */
  readonly mountPoint: string;
  /** Trees of the machine that the node sees at their own paths, read-only: the source tree, the images. */
  readonly trees: readonly string[];
  /** Directory of log files, seen at its own path. */
  readonly logDirectory: string;
}

/** CNI executables and configuration of the node, as real nodes have them. */
export const CNI_BIN_DIRECTORY = "/opt/cni/bin";

const PROCESS_NODE = join(import.meta.dirname, "process-node", "main.ts");

export function nodeScript({ name, mountPoint, trees, logDirectory }: NodeRoot): string {
  const below = (path: string): string => path.slice(1);
  return [
    "set -e",
    "umask 022",
    `mount -t tmpfs -o mode=755 node ${shellQuote(mountPoint)}`,
    `cd ${shellQuote(mountPoint)}`,
    ...baseTree({ hostname: name, hosts: [] }),
    // `ip -netns` takes /sys off and mounts it anew, which a user namespace may do only while another one is in sight.
    "mkdir mnt/sys",
    "mount -t sysfs sysfs mnt/sys",
    `mkdir -p ${below(dirname(IMAGE_NODE))} ${below(CNI_BIN_DIRECTORY)} etc/cni/net.d run/netns var/lib/kubelet`,
    ...bindTree(process.execPath, below(IMAGE_NODE), true, true),
    ...trees.flatMap((tree) => bindTree(tree, below(tree), true)),
    ...bindTree(logDirectory, below(logDirectory), false),
    ...enterTree(),
    // Namespaces that come later show up in containers that have /run/netns mounted.
    "mount --make-rshared /",
    "echo 1 > /proc/sys/net/ipv4/ip_forward",
    // Not exec: pid 1 has to reap orphans, which Node does not do.
    `${IMAGE_NODE} ${shellQuote(PROCESS_NODE)} || exit $?`,
    "exit 1",
  ].join("\n");
}
