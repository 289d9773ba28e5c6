import { describe, expect, it } from "vitest";
import { Answers } from "../../../src/operator/convergence/answers.ts";
import { identityOf } from "../../../src/operator/convergence/inventory.ts";

const object = (uid: string, resourceVersion: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "one", namespace: "n", uid, resourceVersion },
});

describe("the answer to a write", () => {
  it("is gone with its object, whichever version the watch had of it", () => {
    for (const seen of ["3", "7"]) {
      const answers = new Answers();
      answers.remember(object("a", "5"));
      answers.forgetDeleted(object("a", seen));
      expect(answers.newer(identityOf(object("a", "5")), undefined)).toBeUndefined();
    }
  });

  it("stays where the watch tells late that the object before is gone", () => {
    const answers = new Answers();
    const created = object("b", "8");
    answers.remember(created);
    answers.forgetDeleted(object("a", "7"));
    expect(answers.newer(identityOf(created), undefined)).toBe(created);
  });
});
