import { expect, test } from "vitest";
import { jsonPointer } from "../../../src/kube/client/json-patch.ts";

test("a pointer escapes tilde and slash, in that order", () => {
  expect(jsonPointer("metadata", "annotations", "k8s.v1.cni.cncf.io/networks")).toBe(
    "/metadata/annotations/k8s.v1.cni.cncf.io~1networks",
  );
  expect(jsonPointer("a~/b", 0, "")).toBe("/a~0~1b/0/");
});

test("a pointer to the whole document is empty", () => {
  expect(jsonPointer()).toBe("");
});
