import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import type { Clock } from "../kube/clock.ts";
import type { Log } from "../kube/log.ts";

/** Whoever writes into the directory does so in several steps; and two installers at odds must not spin. */
const SETTLE_MS = 100;

/** A pass although the kernel told of no change. */
const SAFETY_PASS_MS = 60_000;

/** How often to look when the kernel gives no watch (inotify limits). */
const UNWATCHED_PASS_MS = 1000;

export interface DirectoryWatchOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Calls `pass` at once, after every change in the directory, and now and then, one call at a time, until the signal
 * aborts. Throws when the directory itself was removed: a mount of it then shows a directory that nobody else can see.
 */
export async function passOnChange(
  options: DirectoryWatchOptions,
  pass: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { directory, clock, log } = options;
  let changed = Promise.withResolvers<void>();
  let watched = true;
  const unwatched = (error: unknown): void => {
    watched = false;
    log.warn({ err: error }, `${directory} can't be watched; looking every ${UNWATCHED_PASS_MS} ms instead`);
    changed.resolve();
  };
  const watcher = openWatch(directory, () => changed.resolve(), unwatched);
  try {
    while (!signal.aborted) {
      changed = Promise.withResolvers<void>();
      await pass();
      await assertThere(directory);
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

function openWatch(directory: string, onChange: () => void, onError: (error: unknown) => void): FSWatcher | undefined {
  try {
    return watch(directory, { persistent: false }, onChange).on("error", onError);
  } catch (error) {
    onError(error);
    return undefined;
  }
}

async function assertThere(directory: string): Promise<void> {
  const { nlink } = await stat(directory);
  if (nlink === 0) throw new Error(`${directory} was removed on the host; start again to mount the new one`);
}
