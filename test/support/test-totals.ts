/** Sums of test runners of different kinds, and the rule about skips. Pure, so that the rule itself is tested. */

export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly string[];
  /** Files that passed in a second try only. */
  readonly secondTries: number;
}

export const NO_TESTS: Totals = { passed: 0, failed: 0, skipped: [], secondTries: 0 };

export function addTotals(a: Totals, b: Totals): Totals {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: [...a.skipped, ...b.skipped],
    secondTries: a.secondTries + b.secondTries,
  };
}

/** The part of vitest's JSON report (Jest's format) that is read here. */
export interface VitestReport {
  readonly success: boolean;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** How many skipped tests each program would have made run. `isNeededBy`: which of the programs a test needs. */
export function skippedFor(
  report: VitestReport,
  isNeededBy: (file: string, name: string) => readonly string[],
): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const file of report.testResults) {
    for (const test of file.assertionResults) {
      if (test.status === "passed" || test.status === "failed") continue;
      for (const program of isNeededBy(file.name, test.fullName)) counts[program] = (counts[program] ?? 0) + 1;
    }
  }
  return counts;
}

/** A file that fails before its first test (an import that throws, a hook) counts as one failed test. */
export function totalsOfVitest(report: VitestReport): Totals {
  let passed = 0;
  let failed = 0;
  const skipped: string[] = [];
  for (const file of report.testResults) {
    let failedHere = 0;
    for (const test of file.assertionResults) {
      if (test.status === "passed") passed += 1;
      else if (test.status === "failed") failedHere += 1;
      else skipped.push(test.fullName);
    }
    failed += file.status === "failed" ? Math.max(1, failedHere) : failedHere;
  }
  if (!report.success && failed === 0) failed = 1;
  return { ...NO_TESTS, passed, failed, skipped };
}

/** More failed files than this are no accident: they are not run again. */
const MAX_FILES_AGAIN = 3;

/** The files to run a second time on a machine that is quiet by then; none where that could not change the result. */
export function filesToRunAgain(report: VitestReport): string[] {
  const failed = report.testResults.filter(({ status }) => status === "failed").map(({ name }) => name);
  return failed.length <= MAX_FILES_AGAIN ? failed : [];
}

/** The report with the files of `again` in place of their first try. */
export function withSecondTry(first: VitestReport, again: VitestReport): VitestReport {
  const later = new Map(again.testResults.map((file) => [file.name, file]));
  const testResults = first.testResults.map((file) => later.get(file.name) ?? file);
  return { success: again.success && testResults.every(({ status }) => status !== "failed"), testResults };
}

/** Reads the `test result:` lines of `cargo test`, and the names of ignored tests. */
export function totalsOfCargo(output: string): Totals {
  let passed = 0;
  let failed = 0;
  for (const match of output.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed;/gm)) {
    passed += Number(match[1]);
    failed += Number(match[2]);
  }
  const skipped = [...output.matchAll(/^test (.+) \.\.\. ignored/gm)].map((match) => `cargo ${match[1]}`);
  return { ...NO_TESTS, passed, failed, skipped };
}

/** Skips whose name starts with none of the known beginnings. */
export function unknownSkips(skipped: readonly string[], known: readonly { readonly test: string }[]): string[] {
  return skipped.filter((name) => !known.some((entry) => name.startsWith(entry.test)));
}

export function formatTotals(totals: Totals): string {
  const sums = `${totals.passed} passed, ${totals.failed} failed, ${totals.skipped.length} skipped`;
  return totals.secondTries === 0 ? sums : `${sums}; files that needed a second try: ${totals.secondTries}`;
}
