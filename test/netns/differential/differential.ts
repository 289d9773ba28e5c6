/** Runs cases on the reference plugin and on ours, in twin namespaces, and counts what came of it. */

import type { Machine } from "../machine.ts";
import { reasonFor } from "./allowed-differences.ts";
import { type DifferentialCase, generateCase } from "./case-generator.ts";
import { compare, type Difference } from "./comparison.ts";
import { observe } from "./side.ts";

export interface Totals {
  readonly seed: number;
  readonly cases: number;
  bothSucceeded: number;
  bothFailed: number;
  /** Cases with differences that are all on the list. */
  allowed: number;
  different: number;
}

export interface Report {
  readonly totals: Totals;
  readonly keys: Readonly<Record<string, number>>;
  /** How many cases each reason was given for. */
  readonly reasons: Readonly<Record<string, number>>;
}

export interface Plan {
  readonly machine: Machine;
  readonly seed: number;
  readonly first: number;
  readonly cases: number;
  readonly reference: string;
  readonly ours: string;
  /** Directory of the IPAM plugins. */
  readonly cniPath: string;
}

export async function runDifferential(
  plan: Plan,
  different: (one: DifferentialCase, differences: readonly Difference[]) => void,
): Promise<Report> {
  const totals = { seed: plan.seed, cases: plan.cases, bothSucceeded: 0, bothFailed: 0, allowed: 0, different: 0 };
  const keys: Record<string, number> = {};
  const reasons: Record<string, number> = {};
  for (let number = plan.first; number < plan.first + plan.cases; number++) {
    const one = generateCase(plan.seed, number);
    for (const key of Object.keys(one.config)) keys[key.toLowerCase()] = (keys[key.toLowerCase()] ?? 0) + 1;
    const [reference, ours] = await Promise.all([
      observe(plan.machine, plan.reference, plan.cniPath, one),
      observe(plan.machine, plan.ours, plan.cniPath, one),
    ]);
    if (reference.add.ok && ours.add.ok) totals.bothSucceeded++;
    if (!reference.add.ok && !ours.add.ok) totals.bothFailed++;
    const found = compare(reference, ours);
    const unexplained = found.filter((difference) => reasonFor(difference, one) === undefined);
    if (unexplained.length > 0) {
      totals.different++;
      const outcomes = { at: "answers", reference: reference.add.answer, ours: ours.add.answer };
      different(one, [...unexplained, outcomes]);
    } else if (found.length > 0) {
      totals.allowed++;
      const given = new Set(found.map((difference) => reasonFor(difference, one) ?? ""));
      for (const reason of given) reasons[reason] = (reasons[reason] ?? 0) + 1;
    }
  }
  return { totals, keys, reasons };
}
