import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { onlyStatusChanged } from "../../../src/operator/watch/urgency.ts";

const old: KubeObject = {
  metadata: { name: "d", uid: "1", generation: 1, resourceVersion: "5", labels: { app: "d" } },
  status: { numberAvailable: 1 },
};
const changed = (metadata: KubeObject["metadata"]): KubeObject => ({
  metadata: { ...old.metadata, resourceVersion: "6", ...metadata },
  status: { numberAvailable: 2 },
});

describe("a change of a watched object", () => {
  it("concerns only the status while generation and metadata stay", () => {
    expect(onlyStatusChanged(changed({}), old)).toBe(true);
  });

  it.each([
    { generation: 2 },
    { labels: { app: "e" } },
    { annotations: { a: "b" } },
    { finalizers: ["f"] },
    { deletionTimestamp: "2026-01-01T00:00:00Z" },
    { uid: "2" },
    { ownerReferences: [] },
  ])("concerns more than the status with %o", (metadata) => {
    expect(onlyStatusChanged(changed(metadata as KubeObject["metadata"]), old)).toBe(false);
  });

  it("concerns more than the status in an object without a generation", () => {
    const { generation: _, ...metadata } = old.metadata;
    expect(onlyStatusChanged({ metadata, data: {} } as KubeObject, { metadata } as KubeObject)).toBe(false);
  });
});
