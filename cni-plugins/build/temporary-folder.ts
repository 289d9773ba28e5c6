/**
 * The folders that a build makes things in before it renames or reads them. The name tells which process made one, so what a
 * killed build left is removed by the next; a build that a signal ends removes its own.
 */

import { readFileSync, readlinkSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import { endCommands } from "./command.ts";
import { type Place, sayingWhere } from "./unwritable.ts";

export interface TemporaryFolder extends Place {
  readonly prefix: string;
}

/** `<process numbers' space>-<pid>-<start time>-<random>`; the start time tells a process from a later one with its pid. */
const NAME = /^([0-9a-f]+)-(\d+)-(\d+)-\w{6}$/;
/** Longer than any build takes: then it does not matter on which machine it was. */
const ABANDONED_MS = 24 * 3_600_000;

const own = new Set<string>();

/** Makes the parent too. The folder is removed when `work` has ended. */
export async function withTemporaryFolder<T>(
  { prefix, ...place }: TemporaryFolder,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  return sayingWhere(place, async () => {
    await mkdir(place.parent, { recursive: true });
    await removeAbandoned(place.parent, prefix);
    const name = `${prefix}${processSpace()}-${process.pid}-${startTime(process.pid)}-`;
    const folder = await mkdtemp(path.join(place.parent, name));
    own.add(folder);
    try {
      return await work(folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
      own.delete(folder);
    }
  });
}

/** For programs: a signal ends the commands that run, removes the folders, and then this process. */
export function cleanUpOnSignals(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => {
      endCommands();
      // What a command still writes while it ends may be in the way.
      for (const folder of own) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
      process.kill(process.pid, signal);
    });
  }
}

async function removeAbandoned(parent: string, prefix: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(prefix)) continue;
    const folder = path.join(parent, name);
    if (await isAbandoned(folder, name.slice(prefix.length))) await rm(folder, { recursive: true, force: true });
  }
}

async function isAbandoned(folder: string, name: string): Promise<boolean> {
  const [, space, pid, start] = NAME.exec(name) ?? [];
  if (space === undefined) return false;
  if (space === processSpace()) return startTime(Number(pid)) !== start;
  const usedMs = await stat(folder).then(
    ({ mtimeMs }) => mtimeMs,
    () => Date.now(),
  );
  return Date.now() - usedMs > ABANDONED_MS;
}

/** Where this process' number means something: a boot of a machine, and a container on it. */
function processSpace(): string {
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").slice(0, 8);
  return `${boot}${/\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0]}`;
}

/** Clock ticks from the machine's boot; undefined when there is no such process. */
function startTime(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}
