import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";

const ALL = `0-${availableParallelism() - 1}`;

/**
 * Runs `work` with this process on the first core and those of `pids` on the second, as clients and servers are on machines
 * of their own. Where the scheduler would put them decides more than what is compared. Nothing is bound on one core.
 */
export async function onCoresOfTheirOwn<T>(pids: readonly number[], work: () => Promise<T>): Promise<T> {
  if (availableParallelism() < 2) return work();
  await bind(process.pid, "0");
  try {
    for (const pid of pids) await bind(pid, "1");
    return await work();
  } finally {
    await bind(process.pid, ALL);
  }
}

/**
 * Binds a client to the first core, and the main thread of a server, which does what it is asked for, to the second. Threads
 * of the server that collect garbage beside it go where there is room, as on a machine with more cores. Nothing is bound on one.
 */
export async function bindApart(client: number, server: number): Promise<void> {
  if (availableParallelism() < 2) return;
  await bind(client, "0");
  await promisify(execFile)("taskset", ["--cpu-list", "--pid", "1", String(server)]);
}

/** All threads of a process; taskset is of util-linux. */
async function bind(pid: number, cores: string): Promise<void> {
  await promisify(execFile)("taskset", ["--all-tasks", "--cpu-list", "--pid", cores, String(pid)]);
}
