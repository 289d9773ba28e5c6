import { describe, expect, it } from "vitest";
import { applySteps, type Step } from "../../../cni-plugins/cni/steps.ts";

function step(name: string, fails: { apply?: boolean; undo?: boolean } = {}): Step<string[]> {
  return {
    name,
    apply(log) {
      log.push(name);
      if (fails.apply) throw new Error(`${name} failed`);
    },
    undo(log) {
      log.push(`undo ${name}`);
      if (fails.undo) throw new Error(`undo ${name} failed`);
    },
  };
}

describe("steps", () => {
  it("are applied in order", () => {
    const log: string[] = [];
    applySteps([step("a"), step("b")], log, () => {});
    expect(log).toEqual(["a", "b"]);
  });

  it("are undone in reverse order, with the one that failed, and its error is thrown", () => {
    const log: string[] = [];
    const steps = [step("a"), step("b"), step("c", { apply: true }), step("d")];
    expect(() => applySteps(steps, log, () => {})).toThrow("c failed");
    expect(log).toEqual(["a", "b", "c", "undo c", "undo b", "undo a"]);
  });

  it("are all undone, also when one can't be", () => {
    const log: string[] = [];
    const stuck: string[] = [];
    const steps = [step("a"), step("b", { undo: true }), step("c", { apply: true })];
    expect(() => applySteps(steps, log, (name) => stuck.push(name))).toThrow("c failed");
    expect([log.at(-1), stuck]).toEqual(["undo a", ["b"]]);
  });
});
