import { describe, expect, it } from "vitest";
import { generateCase, type Kind } from "./case-generator.ts";
import { COVERING_CASES, EXPECTED_KEYS, keysOf, shares, shortfall } from "./coverage.ts";
import { emptyReport, type Report } from "./differential.ts";

/** As a run counts, without the plugins. */
function counted(seed: number, bothSucceeded = COVERING_CASES / 2): Report {
  const report = emptyReport(seed);
  const kinds: readonly Kind[] = ["plain", "vlan", "tuning"];
  for (const kind of kinds) {
    for (let number = 0; number < shares(COVERING_CASES)[kind]; number++) {
      for (const key of keysOf(generateCase(seed, number, kind))) {
        report.keys[key] = (report.keys[key] ?? 0) + 1;
      }
    }
  }
  Object.assign(report.totals, { cases: COVERING_CASES, bothSucceeded });
  return report;
}

describe("a long run", () => {
  it.each([1, 2, 3, 6, 77, 20_261_127, 4_000_000_000])(
    "has each key 30 times, and no key that is not counted: seed %i",
    (seed) => {
      const report = counted(seed);
      expect(shortfall(report)).toBeUndefined();
      expect(Object.keys(report.keys).filter((key) => !EXPECTED_KEYS.includes(key))).toEqual([]);
    },
  );

  it("names what it had too little of", () => {
    const report = counted(1, COVERING_CASES / 2 - 1);
    report.keys.quiet = 29;
    delete report.keys["args.cni.sysctl"];
    const sentence = shortfall(report);
    expect(sentence).toContain("both sides succeeded in 1499 of 3000 cases, not in half");
    expect(sentence).toContain('"quiet" occurred in 29 cases, not in 30');
    expect(sentence).toContain('"args.cni.sysctl" occurred in 0 cases');
    Object.assign(report.totals, { cases: COVERING_CASES - 1 });
    expect(shortfall(report)).toBeUndefined();
  });
});
