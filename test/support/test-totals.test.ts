import { describe, expect, it } from "vitest";
import {
  addTotals,
  filesToRunAgain,
  formatTotals,
  NO_TESTS,
  skippedFor,
  totalsOfCargo,
  totalsOfVitest,
  unknownSkips,
  withSecondTry,
} from "./test-totals.ts";

const file = (status: string, ...tests: [string, string][]) => ({
  name: "a.test.ts",
  status,
  assertionResults: tests.map(([fullName, state]) => ({ fullName, status: state })),
});

describe("the sum of test runners", () => {
  it("counts each test of a vitest report once", () => {
    const totals = totalsOfVitest({
      success: false,
      testResults: [
        file("failed", ["a", "passed"], ["b", "failed"]),
        file("passed", ["c", "passed"], ["d", "pending"]),
      ],
    });
    expect(totals).toEqual({ ...NO_TESTS, passed: 2, failed: 1, skipped: ["d"] });
  });

  it("counts what a missing program skipped, by the program", () => {
    const report = {
      success: true,
      testResults: [file("passed", ["a", "passed"], ["b", "skipped"], ["c", "pending"])],
    };
    const needed = (name: string, test: string) => (name === "a.test.ts" && test !== "c" ? ["nft", "zsh"] : ["nft"]);
    expect(skippedFor(report, needed)).toEqual({ nft: 2, zsh: 1 });
  });

  it("counts a file that broke before its first test as a failure", () => {
    expect(totalsOfVitest({ success: false, testResults: [file("failed")] }).failed).toBe(1);
  });

  it("counts an error outside every file as a failure", () => {
    expect(totalsOfVitest({ success: false, testResults: [file("passed", ["a", "passed"])] }).failed).toBe(1);
  });

  it("takes the second try of a failed file, and nothing else from it", () => {
    const report = (success: boolean, ...testResults: ReturnType<typeof file>[]) => ({ success, testResults });
    const passed = { ...file("passed", ["b", "passed"]), name: "b.test.ts" };
    const first = report(false, file("failed", ["a", "failed"]), passed);
    expect(filesToRunAgain(first)).toEqual(["a.test.ts"]);
    const repaired = withSecondTry(first, report(true, file("passed", ["a", "passed"])));
    expect(totalsOfVitest(repaired)).toEqual({ ...NO_TESTS, passed: 2 });
    const failedTwice = withSecondTry(first, report(false, file("failed", ["a", "failed"])));
    expect(totalsOfVitest(failedTwice)).toMatchObject({ passed: 1, failed: 1 });
    const outsideOfFiles = withSecondTry(first, report(false, file("passed", ["a", "passed"])));
    expect(totalsOfVitest(outsideOfFiles).failed).toBe(1);
  });

  it("runs nothing again where much failed", () => {
    const files = ["a", "b", "c", "d"].map((name) => ({ ...file("failed", ["x", "failed"]), name }));
    expect(filesToRunAgain({ success: false, testResults: files })).toEqual([]);
  });

  it("sums the results of several cargo test binaries", () => {
    const output = [
      "test slow ... ignored",
      "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out",
      "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
    ].join("\n");
    expect(totalsOfCargo(output)).toEqual({ ...NO_TESTS, passed: 4, failed: 2, skipped: ["cargo slow"] });
  });

  it("lets only listed skips pass", () => {
    expect(unknownSkips(["arm64 runs", "netns adds"], [{ test: "arm64" }])).toEqual(["netns adds"]);
  });

  it("prints one line", () => {
    const cargo = { ...NO_TESTS, passed: 1, skipped: ["x"] };
    expect(formatTotals(addTotals(cargo, { ...NO_TESTS, passed: 2, failed: 3 }))).toBe("3 passed, 3 failed, 1 skipped");
    expect(formatTotals(addTotals(cargo, { ...NO_TESTS, passed: 2, secondTries: 2 }))).toBe(
      "3 passed, 0 failed, 1 skipped; files that needed a second try: 2",
    );
  });
});
