/**
 * A control group of its own for a process and its children, to measure the memory that kubelet counts: pages of its own, the
 * kernel's for it, and files that it alone reads. Needs root, and the memory controller of control groups.
 *
 *   await using group = await MemoryGroup.create("marker");
 *   spawn(...group.prefix, "node", ...);
 *   group.megabytes;
 */

import { existsSync, readFileSync } from "node:fs";
import { mkdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { MissingRequirement } from "../cluster/requirements.ts";
import { eventually } from "./eventually.ts";
import { cpuMsOf } from "./process-usage.ts";

const ROOT = "/sys/fs/cgroup";
/** Of version 1, which has a tree for each controller. */
const MEMORY_ROOT = join(ROOT, "memory");
const JOIN = 'echo $$ >"$0/cgroup.procs" && exec "$@"';
const KIB = 1024;

export class MemoryGroup implements AsyncDisposable {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async create(name: string): Promise<MemoryGroup> {
    const parent = existsSync(MEMORY_ROOT) ? MEMORY_ROOT : ROOT;
    const directory = join(parent, `${name}-${process.pid}`);
    try {
      await mkdir(directory);
      readFileSync(join(directory, "memory.stat"));
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new MissingRequirement(`No control group for memory can be made (${why}): run it as root`, { cause });
    }
    return new MemoryGroup(directory);
  }

  /** What to put before a command line. */
  get prefix(): readonly string[] {
    return ["sh", "-c", JOIN, this.#directory];
  }

  /** Without files that nobody has read again: the kernel takes their pages when it needs them. */
  get megabytes(): number {
    const isFirst = existsSync(join(this.#directory, "memory.usage_in_bytes"));
    const all = Number(this.#read(isFirst ? "memory.usage_in_bytes" : "memory.current"));
    const idle = new RegExp(`^${isFirst ? "total_" : ""}inactive_file (\\d+)$`, "m").exec(
      this.#read("memory.stat"),
    )?.[1];
    return (all - Number(idle)) / KIB / KIB;
  }

  /** CPU time so far of the processes that are in it. */
  get cpuMs(): number {
    const pids = this.#read("cgroup.procs").trim().split("\n").filter(Boolean).map(Number);
    return pids.map(cpuMsOf).reduce((sum, one) => sum + one, 0);
  }

  #read(file: string): string {
    return readFileSync(join(this.#directory, file), "utf8");
  }

  /** Once its processes have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await eventually("an empty control group", () => rmdir(this.#directory).then(() => true));
  }
}
