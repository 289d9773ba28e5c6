import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import type { Clock } from "../../kube/clock.ts";
import type { Log } from "../../kube/log.ts";
import { changedMount, readNodeMounts } from "./node-mounts.ts";
import { isTemporary } from "./replace-file.ts";

/** Others write into the directory in several steps. */
const SETTLE_MS = 100;

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
  let changed = Promise.withResolvers<void>();
  let watched = true;
  const unwatched = (error: unknown): void => {
    watched = false;
    log.warn(
      { err: error },
      `the kernel gives no watch of ${directory}; it is checked every ${UNWATCHED_PASS_MS / 1000} s instead`,
    );
    changed.resolve();
  };
  const watcher = openWatch(directory, () => changed.resolve(), unwatched);
  try {
    while (!signal.aborted) {
      changed = Promise.withResolvers<void>();
      await pass();
      await assertThere(directory);
      const changedAt = changedMount(mounts, await readMounts());
      if (changedAt !== undefined) throw replaced(changedAt);
      const passed = new AbortController();
      const wait = AbortSignal.any([signal, passed.signal]);
      const safety = clock.sleep(watched ? SAFETY_PASS_MS : UNWATCHED_PASS_MS, wait).catch(() => undefined);
      await Promise.race([changed.promise, safety]);
      passed.abort();
      await clock.sleep(SETTLE_MS, signal).catch(() => undefined);
    }
  } finally {
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
