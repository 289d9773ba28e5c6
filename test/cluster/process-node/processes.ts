/** What /proc says about processes. */
import { readFileSync } from "node:fs";

const SIGTERM = 15n;

/** The only child of `unshare --fork`: the first process of the namespaces it made. */
export function childOf(pid: number | undefined): number | undefined {
  const children = read(`/proc/${pid}/task/${pid}/children`)?.split(" ").filter(Boolean) ?? [];
  return children[0] === undefined ? undefined : Number(children[0]);
}

/** Whether the process has a handler for SIGTERM. */
export function catchesTerm(pid: number): boolean {
  const [, mask] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(read(`/proc/${pid}/status`) ?? "") ?? [];
  return mask !== undefined && ((BigInt(`0x${mask}`) >> (SIGTERM - 1n)) & 1n) === 1n;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
