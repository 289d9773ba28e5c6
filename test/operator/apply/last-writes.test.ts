import { describe, expect, it } from "vitest";
import { identityOf } from "../../../src/operator/apply/inventory.ts";
import { LastWrites } from "../../../src/operator/apply/last-writes.ts";

const object = (uid: string, resourceVersion: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "one", namespace: "n", uid, resourceVersion },
});

describe("the answer to a write", () => {
  it("is gone with its object, whichever version the watch had of it", () => {
    for (const seen of ["3", "7"]) {
      const lastWrites = new LastWrites();
      lastWrites.remember(object("a", "5"));
      lastWrites.forgetDeleted(object("a", seen));
      expect(lastWrites.newer(identityOf(object("a", "5")), undefined)).toBeUndefined();
    }
  });

  it("stays where the watch tells late that the object before is gone", () => {
    const lastWrites = new LastWrites();
    const created = object("b", "8");
    lastWrites.remember(created);
    lastWrites.forgetDeleted(object("a", "7"));
    expect(lastWrites.newer(identityOf(created), undefined)).toBe(created);
  });
});
