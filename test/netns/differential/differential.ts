/** Runs cases on the reference plugin and on ours, in twin namespaces, and counts what came of it. */

import path from "node:path";
import type { Machine } from "../machine.ts";
import { reasonFor } from "./allowed-differences.ts";
import { type DifferentialCase, generateCase, type Kind } from "./case-generator.ts";
import { compare, type Difference } from "./comparison.ts";
import { keysOf } from "./coverage.ts";
import { observe } from "./side.ts";

export interface Totals {
  readonly seed: number;
  cases: number;
  bothSucceeded: number;
  bothFailed: number;
  /** Cases with differences that are all on the list. */
  allowed: number;
  different: number;
}

export interface Report {
  readonly totals: Totals;
  /** How many cases have each key: "vlanTrunk[].minID". */
  readonly keys: Record<string, number>;
  /** How many cases each reason was given for. */
  readonly reasons: Record<string, number>;
}

export interface Plan {
  readonly machine: Machine;
  readonly kind: Kind;
  readonly seed: number;
  readonly first: number;
  readonly cases: number;
  /** How many cases are under way at once. */
  readonly parallel: number;
  /** Ends the run after the cases that are under way. */
  readonly signal?: AbortSignal;
  /** Directories of the plugins. */
  readonly reference: string;
  readonly ours: string;
  /** Directory of the IPAM plugins. */
  readonly cniPath: string;
}

export function emptyReport(seed: number): Report {
  return {
    totals: { seed, cases: 0, bothSucceeded: 0, bothFailed: 0, allowed: 0, different: 0 },
    keys: {},
    reasons: {},
  };
}

type OnDifferent = (one: DifferentialCase, differences: readonly Difference[]) => void;

/** Adds to `report`. */
export async function runDifferential(plan: Plan, report: Report, different: OnDifferent): Promise<void> {
  let next = plan.first;
  const work = async () => {
    while (next < plan.first + plan.cases && plan.signal?.aborted !== true)
      await runCase(plan, next++, report, different);
  };
  await Promise.all(Array.from({ length: plan.parallel }, work));
}

async function runCase(plan: Plan, number: number, report: Report, different: OnDifferent): Promise<void> {
  const { totals, keys, reasons } = report;
  const one = generateCase(plan.seed, number, plan.kind);
  const plugin = plan.kind === "tuning" ? "tuning" : "bridge";
  const [reference, ours] = await Promise.all([
    observe(plan.machine, path.join(plan.reference, plugin), plan.cniPath, one),
    observe(plan.machine, path.join(plan.ours, plugin), plan.cniPath, one),
  ]);
  totals.cases++;
  for (const key of keysOf(one)) keys[key] = (keys[key] ?? 0) + 1;
  const succeeded = [reference, ours].filter(({ add }) => add.outcome === "success").length;
  if (succeeded === 2) totals.bothSucceeded++;
  if (succeeded === 0) totals.bothFailed++;
  const found = compare(reference, ours);
  const unexplained = found.filter((difference) => reasonFor(difference, one) === undefined);
  if (unexplained.length > 0) {
    totals.different++;
    different(one, [...unexplained, { at: "answers", reference: reference.add.answer, ours: ours.add.answer }]);
  } else if (found.length > 0) {
    totals.allowed++;
    const given = new Set(found.map((difference) => reasonFor(difference, one) ?? ""));
    for (const reason of given) reasons[reason] = (reasons[reason] ?? 0) + 1;
  }
}
