import { type FSWatcher, watch } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import type { Clock } from "../../kube/clock.ts";
import { WorkQueue } from "../../kube/informer/work-queue.ts";
import type { Log } from "../../kube/log.ts";
import { isTemporary } from "./replace-file.ts";

/** Others write into the directory in several steps. */
const SETTLE_MS = 100;

/** The queue's one key. */
const PASS = "pass";

/** A pass without an event. */
const SAFETY_PASS_MS = 60_000;

/** The same where the kernel gives no watch (limits of inotify). */
const UNWATCHED_PASS_MS = 1000;

export interface DirectoryWatchOptions {
  readonly directory: string;
  /** Other directories of the node that this process works in. */
  readonly otherDirectories?: readonly string[];
  readonly mountInfo?: string;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Calls `pass` at once, after every change in the directory, and at least once a minute, one call at a time, until the signal
 * aborts. Throws when one of the directories was removed or renamed on the node: its mount then shows one that nobody else uses.
 */
export async function passOnChange(
  options: DirectoryWatchOptions,
  pass: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { directory, otherDirectories = [], mountInfo, clock, log } = options;
  const readMounts = () => readNodeMounts([directory, ...otherDirectories], mountInfo);
  const mounts = await readMounts();
  const queue = new WorkQueue({ clock });
  const changed = (): void => queue.addAfter(PASS, SETTLE_MS);
  let passIntervalMs = SAFETY_PASS_MS;
  const unwatched = (error: unknown): void => {
    passIntervalMs = UNWATCHED_PASS_MS;
    log.warn(
      { err: error },
      `the kernel gives no watch of ${directory}; it is checked every ${UNWATCHED_PASS_MS / 1000} s instead`,
    );
    changed();
  };
  const watcher = openWatch(directory, changed, unwatched);
  const stop = (): void => queue.shutdown();
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) return;
    queue.add(PASS);
    while ((await queue.next()) !== undefined) {
      await pass();
      await assertThere(directory);
      const changedAt = changedMount(mounts, await readMounts());
      if (changedAt !== undefined) throw replaced(changedAt);
      queue.done(PASS);
      queue.addAfter(PASS, passIntervalMs);
    }
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
    watcher?.close();
  }
}

/** A pass that fails writes and removes temporary files; these must not be the reason for the next pass. */
function openWatch(directory: string, onChange: () => void, onError: (error: unknown) => void): FSWatcher | undefined {
  try {
    const onEvent = (_: string, name: string | null): void => {
      if (name === null || !isTemporary(name)) onChange();
    };
    return watch(directory, { persistent: false }, onEvent).on("error", onError);
  } catch (error) {
    onError(error);
    return undefined;
  }
}

async function assertThere(directory: string): Promise<void> {
  const { nlink } = await stat(directory);
  if (nlink === 0) throw replaced(directory);
}

function replaced(directory: string): Error {
  return new Error(`${directory} was removed or renamed on the node; restart the container to mount the new one`);
}

/** The mounts of this process's mount namespace. */
const MOUNT_INFO = "/proc/self/mountinfo";

/**
 * What is mounted at each of the node's directories; nothing for directories that are no mounts. A mount keeps what it was
 * made of: when that is removed or renamed on the node, and made anew, this process goes on in a directory that nobody else
 * uses.
 */
type NodeMounts = ReadonlyMap<string, string>;

/** Fields of a line: id, parent, device, directory within it, mount point, ... */
const DEVICE = 2;
const ROOT = 3;
const MOUNT_POINT = 4;

async function readNodeMounts(directories: readonly string[], mountInfo = MOUNT_INFO): Promise<NodeMounts> {
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
function changedMount(before: NodeMounts, now: NodeMounts): string | undefined {
  return [...before].find(([directory, mounted]) => (now.get(directory) ?? mounted) !== mounted)?.[0];
}
