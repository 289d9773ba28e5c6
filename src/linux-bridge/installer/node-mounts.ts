import { readFile } from "node:fs/promises";

/**
 * Directories of the node that are mounted into this process's file system. A mount keeps what it was made of: when that
 * is removed or renamed on the node, and made anew, this process goes on in a directory that nobody else uses.
 */

/** The mounts of this process's mount namespace. */
const MOUNT_INFO = "/proc/self/mountinfo";

/** What is mounted at each directory, as long as the mount stays what it is; nothing for directories that are no mounts. */
export type NodeMounts = ReadonlyMap<string, string>;

/** Fields of a line: id, parent, device, directory within it, mount point, ... */
const DEVICE = 2;
const ROOT = 3;
const MOUNT_POINT = 4;

export async function readNodeMounts(directories: readonly string[], mountInfo = MOUNT_INFO): Promise<NodeMounts> {
  const mounts = new Map<string, string>();
  for (const line of (await readFile(mountInfo, "utf8")).split("\n")) {
    const fields = line.split(" ");
    const at = fields[MOUNT_POINT] ?? "";
    // The last one at a place hides those before it.
    if (directories.includes(at)) mounts.set(at, `${fields[DEVICE]} ${fields[ROOT]}`);
  }
  return mounts;
}

/** The first directory whose mount is another one now. Kernels before 5.8 leave out lines while other mounts come and go. */
export function changedMount(before: NodeMounts, now: NodeMounts): string | undefined {
  return [...before].find(([directory, mounted]) => (now.get(directory) ?? mounted) !== mounted)?.[0];
}
