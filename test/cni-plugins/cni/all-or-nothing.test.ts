import { describe, expect, it } from "vitest";
import { allOrNothing } from "../../../cni-plugins/cni/all-or-nothing.ts";

describe("work that is done as a whole or not at all", () => {
  it("gives its result and takes nothing back when it succeeds", () => {
    const log: string[] = [];
    const work = () =>
      allOrNothing(expect.fail, (onFailure) => {
        onFailure("a", () => log.push("undo a"));
        return 1;
      });
    expect(work()).toBe(1);
    expect(log).toEqual([]);
  });

  it("is taken back in reverse order, also when a part of it can't be, and its error is thrown", () => {
    const log: string[] = [];
    const warnings: string[] = [];
    const work = () =>
      allOrNothing(
        (text) => warnings.push(text),
        (onFailure) => {
          onFailure("a", () => log.push("undo a"));
          onFailure("b", () => {
            throw new Error("stuck");
          });
          onFailure("c", () => log.push("undo c"));
          throw new Error("d failed");
        },
      );
    expect(work).toThrow("d failed");
    expect(log).toEqual(["undo c", "undo a"]);
    expect(warnings).toEqual(['could not take back "b": Error: stuck']);
  });
});
