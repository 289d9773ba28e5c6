import { expect, it } from "vitest";
import { APPLIED_KINDS } from "../../../src/operator/apply/applied-kinds.ts";
import { DRIFT_EDITS } from "../support/drift-edits.ts";

it("an edit of every kind that the operator applies is taken back in a test", () => {
  const edited = new Set(DRIFT_EDITS.map(({ resource: { group, kind } }) => `${kind}.${group}`));
  const applied = APPLIED_KINDS.map(({ resource: { group, kind } }) => `${kind}.${group}`);
  expect(applied.filter((kind) => !edited.has(kind))).toEqual([]);
});
