import { describe, expect, it } from "vitest";
import { decorate, labelValue } from "../../../src/operator/manifests/labels.ts";

const owner = { apiVersion: "a/v1", kind: "K", name: "cluster", uid: "u" };
const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d", labels: { app: "x" } },
  spec: { template: { metadata: { labels: { app: "x" } } } },
};

describe("decoration", () => {
  it("puts the product's labels on the object and its pods, and the owner on the object", () => {
    const decorated = decorate(deployment, { version: "1.0.0+build", configLabels: {}, owner }, { owned: true });
    expect(decorated.metadata).toEqual({
      name: "d",
      ownerReferences: [owner],
      labels: {
        app: "x",
        "networkaddonsoperator.network.kubevirt.io/version": "1.0.0_build",
        "prometheus.cnao.io": "true",
        "app.kubernetes.io/managed-by": "cnao-operator",
        "app.kubernetes.io/component": "network",
      },
    });
    expect(decorated).toMatchObject({
      spec: { template: { metadata: { labels: { app: "x", "app.kubernetes.io/managed-by": "cnao-operator" } } } },
    });
  });

  it("hands on the relationship labels of the configuration", () => {
    const configLabels = {
      "app.kubernetes.io/component": "net",
      "app.kubernetes.io/part-of": "hyperconverged-cluster",
      "app.kubernetes.io/version": "1.15",
      "app.kubernetes.io/managed-by": "hco-operator",
    };
    const { metadata } = decorate(deployment, { version: "1", configLabels, owner: undefined }, { owned: true });
    expect(metadata.labels).toMatchObject({ ...configLabels, "app.kubernetes.io/managed-by": "cnao-operator" });
  });

  it("leaves the pool's manager out of plain monitoring", () => {
    const manager = { ...deployment, metadata: { name: "d", labels: { "control-plane": "mac-controller-manager" } } };
    const { metadata } = decorate(manager, { version: "1", configLabels: undefined, owner }, { owned: false });
    expect(metadata.labels?.["prometheus.cnao.io"]).toBe("false");
    expect(metadata).not.toHaveProperty("ownerReferences");
  });

  it("makes any text a label value", () => {
    expect(labelValue("v1.2.3-rc.1+sha/9")).toBe("v1.2.3-rc.1_sha_9");
    expect(labelValue(`-${"x".repeat(100)}-`)).toBe("x".repeat(62));
  });
});
