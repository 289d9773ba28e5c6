/** What a process uses, by proc(5): `cpuMsOf(pid)` so far, `megabytesOf(pid, field)` of its status now. */

import { readdirSync, readFileSync } from "node:fs";

/** CPU time of a process so far: of all its threads, by the scheduler's own count in ns. */
export function cpuMsOf(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const read = (task: string): number =>
    Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]);
  return tasks.map(read).reduce((sum, one) => sum + one, 0) / 1e6;
}

/** Resident memory in MB: all of it unless another field is named, its peak (VmHWM) or without files (RssAnon). */
export function megabytesOf(pid: number, field: "VmRSS" | "VmHWM" | "RssAnon" = "VmRSS"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN) / 1024;
}
