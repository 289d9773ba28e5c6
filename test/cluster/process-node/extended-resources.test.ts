import { describe, expect, it } from "vitest";
import { allocatableChanges } from "./extended-resources.ts";

describe("extended resources of a node", () => {
  it("become allocatable as others publish, change and withdraw them; the node's own amounts are left alone", () => {
    const capacity = { cpu: "16", "example.com/new": "1k", "example.com/changed": "2", "example.com/same": "3" };
    const allocatable = { cpu: "15", "example.com/changed": "1", "example.com/same": "3", "example.com/gone": "4" };
    expect(allocatableChanges({ capacity, allocatable })).toEqual({
      "example.com/new": "1k",
      "example.com/changed": "2",
      "example.com/gone": null,
    });
  });
});
