/**
 * A private directory for each control plane or cluster: kubeconfigs, logs, state. Its name carries the process that
 * made it, so that the next start removes what a killed one left.
 */
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** `<pid>-<start time>-<random>`; the start time tells a process from a later one with its pid. */
const NAME = /^(\d+)-(\d+)-/;

export async function makeRunDirectory(): Promise<string> {
  const parent = join(tmpdir(), `cluster-network-addons-test-${process.getuid?.() ?? 0}`);
  await mkdir(parent, { recursive: true, mode: 0o700 });
  for (const entry of await readdir(parent)) {
    if (isAbandoned(entry)) await rm(join(parent, entry), { recursive: true, force: true });
  }
  return await mkdtemp(join(parent, `${process.pid}-${startTime(process.pid)}-`));
}

/** Whether the process that gave something the name of its run directory has ended. */
export function isAbandoned(name: string): boolean {
  const [, pid, start] = NAME.exec(name) ?? [];
  return pid !== undefined && startTime(Number(pid)) !== start;
}

/** Clock ticks from the machine's boot to the process' start; undefined when there is no such process. */
function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}
