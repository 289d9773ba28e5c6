import { readdirSync, readFileSync } from "node:fs";

/** CPU time of a process so far: of all its threads, by the scheduler's own count in ns. */
export function cpuMsOf(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const read = (task: string): number =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]);
  return tasks.map(read).reduce((sum, one) => sum + one, 0) / 1e6;
}
