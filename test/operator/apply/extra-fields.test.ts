import { describe, expect, it } from "vitest";
import { extraField, replacementFor } from "../../../src/operator/apply/extra-fields.ts";

const complete = {
  kind: "MutatingWebhookConfiguration",
  metadata: { name: "hooks" },
  webhooks: [{ name: "a", clientConfig: { service: { name: "s" } }, timeoutSeconds: 10, objectSelector: {} }],
};

describe("an extra field", () => {
  it("is an added, changed or missing one, by its path", () => {
    const [hook] = complete.webhooks;
    const at = (changed: object) => extraField({ ...complete, webhooks: [{ ...hook, ...changed }] }, complete);
    expect(at({})).toBeUndefined();
    expect(at({ timeoutSeconds: 1 })).toBe("webhooks.0.timeoutSeconds");
    expect(at({ objectSelector: { matchLabels: { a: "b" } } })).toBe("webhooks.0.objectSelector.matchLabels.a");
    expect(at({ timeoutSeconds: undefined })).toBe("webhooks.0.timeoutSeconds");
    expect(extraField({ ...complete, webhooks: [hook, hook] }, complete)).toMatch(/^webhooks\.1\./);
  });

  it("is not what the API server, certificate keepers and restarts write", () => {
    const bundled = { ...complete.webhooks[0], clientConfig: { service: { name: "s" }, caBundle: "x" } };
    expect(extraField({ ...complete, webhooks: [bundled], status: { a: 1 } }, complete)).toBeUndefined();
    const workload = { metadata: {}, spec: { template: { metadata: { labels: { a: "b" } }, spec: {} } } };
    const restarted = {
      metadata: { labels: { theirs: "yes" } },
      spec: { template: { metadata: { labels: { a: "b" }, annotations: { restartedAt: "now" } }, spec: {} } },
    };
    expect(extraField(restarted, workload)).toBeUndefined();
  });
});

describe("a replacement", () => {
  it("keeps labels, annotations and the caBundle of the webhook with the same name, and nothing else", () => {
    const live = {
      kind: "MutatingWebhookConfiguration",
      metadata: { name: "hooks", uid: "u", resourceVersion: "7", labels: { theirs: "yes", app: "theirs" } },
      webhooks: [
        { name: "theirs", clientConfig: { caBundle: "other" } },
        { name: "a", clientConfig: { caBundle: "bundle", url: "theirs" }, timeoutSeconds: 1 },
      ],
    };
    const wanted = { ...complete, metadata: { name: "hooks", labels: { app: "ours" } } };
    expect(replacementFor(live, wanted)).toEqual({
      kind: "MutatingWebhookConfiguration",
      metadata: {
        name: "hooks",
        uid: "u",
        resourceVersion: "7",
        labels: { theirs: "yes", app: "ours" },
        annotations: {},
      },
      webhooks: [{ ...complete.webhooks[0], clientConfig: { service: { name: "s" }, caBundle: "bundle" } }],
    });
  });
});
