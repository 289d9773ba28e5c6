/** What a benchmark is: a file `<name>.bench.ts` here that exports `bench`. `run.ts` finds it by that name. */

import { findExecutable } from "../cluster/requirements.ts";

export interface BenchRow {
  readonly what: string;
  readonly unit: "ms" | "kB" | "MB" | "%" | "ops/s" | "requests" | "events" | "times";
  readonly ours: number;
  /** null where there is nothing to compare with. */
  readonly peer: number | null;
  /** Ours to the peer's; null without one. */
  readonly ratio: number | null;
  /** The largest ratio that is good enough; null where none was set. */
  readonly goal: number | null;
  /** The largest value of ours that is good enough, whatever the peer's is; absent where none was set. */
  readonly limit?: number;
  /** The smallest one; absent where none was set. */
  readonly least?: number;
  /** Nothing may be what was measured. */
  readonly mayBeNone?: true;
  readonly ok: boolean;
}

export interface BenchContext {
  readonly env: NodeJS.ProcessEnv;
  /** Fewer rounds, for a first look: some rows may be off by a tenth. */
  readonly short: boolean;
  /** How large a cluster to measure in, if that was said. */
  readonly nodes?: number;
  /** Progress, for the person who waits. */
  log(line: string): void;
}

/** A program that a benchmark needs from the machine. */
export interface Need {
  /** Any one of them will do. */
  readonly programs: readonly [string, ...string[]];
  /** As in "nft not found, needed to measure spoof checks". */
  readonly purpose: string;
  readonly debianPackage: string;
}

export interface Bench {
  readonly about: string;
  /** They are looked for before anything is built or started. */
  readonly needs: readonly Need[];
  /** It reads `nodes` of its context. */
  readonly takesNodes?: boolean;
  /** Throws BenchFault with one sentence when the machine lacks something. */
  run(context: BenchContext): Promise<readonly BenchRow[]>;
}

export class BenchFault extends Error {}

/** One sentence for each program that is not there. */
export function missingOf(needs: readonly Need[], env: NodeJS.ProcessEnv): string[] {
  return needs
    .filter(({ programs }) => programs.every((program) => findExecutable(program, env) === undefined))
    .map(
      ({ programs: [program], purpose, debianPackage }) =>
        `${program} not found, needed ${purpose}: install the package ${debianPackage} (Debian: apt-get install ${debianPackage}).`,
    );
}

/** Units of which there are only whole ones, so that there can be none. */
const COUNTS: readonly BenchRow["unit"][] = ["requests", "events", "times", "%"];

/** Whether a row says that nothing was there to measure, which no comparison and no limit may take for good. */
export function measuresNothing({ unit, ours, peer, mayBeNone }: BenchRow): boolean {
  const values = peer === null ? [ours] : [ours, peer];
  if (!values.every(Number.isFinite)) return true;
  return mayBeNone !== true && !COUNTS.includes(unit) && values.some((value) => value <= 0);
}

export function row(
  what: string,
  unit: BenchRow["unit"],
  ours: number,
  peer: number | null,
  goal: number | null,
): BenchRow {
  const ratio = peer === null || peer === 0 ? null : ours / peer;
  return { what, unit, ours, peer, ratio, goal, ok: goal === null || (ratio !== null && ratio <= goal) };
}

/** A row whose goal is a value of its own. */
export function limitedRow(
  what: string,
  unit: BenchRow["unit"],
  ours: number,
  peer: number | null,
  limit: number,
): BenchRow {
  return { ...row(what, unit, ours, peer, null), limit, ok: ours <= limit };
}

/** A row that may show nothing, as of a process at rest. */
export const mayBeNone = (row: BenchRow): BenchRow => ({ ...row, mayBeNone: true });

/** A row of which more is better. */
export function atLeastRow(
  what: string,
  unit: BenchRow["unit"],
  ours: number,
  least: number,
  peer: number | null = null,
): BenchRow {
  return { ...row(what, unit, ours, peer, null), least, ok: ours >= least };
}

function goalOf({ unit, goal, limit, least }: BenchRow): string {
  if (goal !== null) return `${goal.toFixed(2)} x`;
  if (limit !== undefined) return `${limit.toFixed(2)} ${unit}`;
  return least === undefined ? "-" : `>= ${least.toFixed(2)} ${unit}`;
}

export function formatTable(rows: readonly BenchRow[]): string {
  const cells = rows.map((one) => {
    const { what, unit, ours, peer, ratio, ok } = one;
    const goal = goalOf(one);
    return [
      what,
      `${ours.toFixed(2)} ${unit}`,
      peer === null ? "-" : `${peer.toFixed(2)} ${unit}`,
      ratio === null ? "-" : `${ratio.toFixed(2)} x`,
      goal,
      goal === "-" ? "" : ok ? "met" : "MISSED",
    ];
  });
  const lines = [["what", "ours", "peer", "ratio", "goal", ""], ...cells];
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  const pad = (text: string, column: number) =>
    column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0);
  return lines.map((line) => line.map(pad).join("  ").trimEnd()).join("\n");
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
