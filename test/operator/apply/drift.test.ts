import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { changedField, differingField, replacementFor } from "../../../src/operator/apply/drift.ts";

const covers = (present: unknown, desired: unknown) => changedField(present, desired) === undefined;

const wanted = {
  metadata: { labels: { app: "a" } },
  spec: {
    template: { spec: { containers: [{ name: "c", image: "i", args: ["-x"], env: [{ name: "A", value: "1" }] }] } },
  },
};

function live(container: object, others: readonly object[] = []) {
  const own = { name: "c", image: "i", args: ["-x"], env: [{ name: "A", value: "1" }], ...container };
  return {
    metadata: { labels: { app: "a", theirs: "b" }, uid: "1" },
    spec: { replicas: 3, template: { spec: { containers: [...others, own], dnsPolicy: "ClusterFirst" } } },
  };
}

describe("drift", () => {
  it("is not what others added or the API server filled in", () => {
    expect(covers(live({ terminationMessagePath: "/dev/termination-log" }), wanted)).toBe(true);
    expect(covers(live({}, [{ name: "sidecar", image: "s" }]), wanted)).toBe(true);
    expect(
      covers(
        live({
          env: [
            { name: "B", value: "2" },
            { name: "A", value: "1" },
          ],
        }),
        wanted,
      ),
    ).toBe(true);
  });

  it("is a changed or missing field", () => {
    expect(covers(live({ image: "other" }), wanted)).toBe(false);
    expect(covers(live({ env: [] }), wanted)).toBe(false);
    expect(covers({ ...live({}), metadata: { labels: {} } }, wanted)).toBe(false);
  });

  it("has a path", () => {
    expect(changedField(live({ image: "other" }), wanted)).toBe("spec.template.spec.containers.0.image");
    expect(changedField(live({ env: [] }), wanted)).toBe("spec.template.spec.containers.0.env.0");
    expect(changedField({ ...live({}), metadata: {} }, wanted)).toBe("metadata.labels");
    expect(changedField(live({}), wanted)).toBeUndefined();
  });

  it("is something added to a list that belongs to us whole", () => {
    expect(covers(live({ args: ["-x", "-y"] }), wanted)).toBe(false);
    const rules = [{ verbs: ["get"] }];
    expect(covers({ rules: [...rules, { verbs: ["*"] }] }, { rules })).toBe(false);
  });

  it("is not an empty object that the API server dropped", () => {
    expect(covers({}, { emptyDir: {} })).toBe(true);
    expect(covers({}, { emptyDir: { medium: "Memory" } })).toBe(false);
  });
});

describe("an object that may lack fields", () => {
  it("has drifted where one has another value", () => {
    const drifted = (present: unknown) => changedField(present, wanted, true);
    const container = { name: "c", image: "i", env: [{ name: "A", value: "1" }] };
    expect(drifted(live({ args: undefined }))).toBeUndefined();
    expect(drifted({ spec: { template: { spec: { containers: [container] } } } })).toBeUndefined();
    expect(drifted(live({ args: undefined, image: "theirs" }))).toBe("spec.template.spec.containers.0.image");
    expect(drifted(live({ args: ["-x", "-y"] }))).toBe("spec.template.spec.containers.0.args");
  });
});

const complete = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "MutatingWebhookConfiguration",
  metadata: { name: "hooks", labels: { app: "ours" } },
  webhooks: [{ name: "a", clientConfig: { service: { name: "s" } }, timeoutSeconds: 10, objectSelector: {} }],
};

describe("an object that belongs to the operator whole", () => {
  it("differs where a field is added, changed or missing", () => {
    const [hook] = complete.webhooks;
    const at = (changed: object) =>
      differingField({ ...complete, webhooks: [{ ...hook, ...changed }] }, complete, complete);
    expect(at({})).toBeUndefined();
    expect(at({ timeoutSeconds: 1 })).toBe("webhooks.0.timeoutSeconds");
    expect(at({ objectSelector: { matchLabels: { a: "b" } } })).toBe("webhooks.0.objectSelector.matchLabels.a");
    expect(at({ timeoutSeconds: undefined })).toBe("webhooks.0.timeoutSeconds");
    expect(differingField({ ...complete, webhooks: [hook, hook] } as KubeObject, complete, complete)).toMatch(
      /^webhooks\.1\./,
    );
  });

  it("differs where something empty, which may mean everything, is missing", () => {
    const [hook] = complete.webhooks;
    const without = { ...complete, webhooks: [{ ...hook, objectSelector: undefined }] };
    expect(differingField(without, complete, complete)).toBe("webhooks.0.objectSelector");
  });

  it("does not differ by what the API server, certificate keepers and restarts write", () => {
    const bundled = { ...complete.webhooks[0], clientConfig: { service: { name: "s" }, caBundle: "x" } };
    const metadata = { ...complete.metadata, labels: { app: "ours", theirs: "yes" }, resourceVersion: "7" };
    expect(differingField({ metadata, webhooks: [bundled], status: { a: 1 } }, complete, complete)).toBeUndefined();
    const template = (more: object) => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: {},
      spec: { template: { metadata: { labels: { a: "b" }, ...more }, spec: {} } },
    });
    const asked = template({});
    expect(differingField(template({ annotations: { restartedAt: "now" } }), asked, asked)).toBeUndefined();
    const relabeled = template({ labels: { theirs: "yes" } });
    expect(differingField(relabeled, asked, asked)).toBe("spec.template.metadata.labels.a");
  });
});

describe("an object that others write too", () => {
  const pool = (spec: object) => ({
    apiVersion: "macpool.network.kubevirt.io/v1alpha1",
    kind: "MACPool",
    metadata: {},
    spec,
  });

  it("differs in what is asked for only", () => {
    const asked = pool({ ranges: [{ start: "1" }] });
    expect(differingField(pool({ ranges: [{ start: "1" }], theirs: 1 }), asked, asked)).toBeUndefined();
    expect(differingField(pool({}), asked, asked)).toBe("spec.ranges.0.start");
    expect(differingField(pool({}), pool({}), asked)).toBeUndefined();
  });
});

describe("a replacement", () => {
  it("keeps labels, annotations and the caBundle of the webhook with the same name, and nothing else", () => {
    const present = {
      kind: "MutatingWebhookConfiguration",
      metadata: { name: "hooks", uid: "u", resourceVersion: "7", labels: { theirs: "yes", app: "theirs" } },
      webhooks: [
        { name: "theirs", clientConfig: { caBundle: "other" } },
        { name: "a", clientConfig: { caBundle: "bundle", url: "theirs" }, timeoutSeconds: 1 },
      ],
    };
    expect(replacementFor(present, complete)).toEqual({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata: {
        name: "hooks",
        uid: "u",
        resourceVersion: "7",
        labels: { theirs: "yes", app: "ours" },
      },
      webhooks: [{ ...complete.webhooks[0], clientConfig: { service: { name: "s" }, caBundle: "bundle" } }],
    });
  });
});
