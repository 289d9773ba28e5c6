import { describe, expect, it } from "vitest";
import { covers, driftedField, lacksFields } from "../../../src/operator/apply/drift.ts";

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
    expect(driftedField(live({ image: "other" }), wanted)).toBe("spec.template.spec.containers.0.image");
    expect(driftedField(live({ env: [] }), wanted)).toBe("spec.template.spec.containers.0.env.0");
    expect(driftedField({ ...live({}), metadata: {} }, wanted)).toBe("metadata.labels");
    expect(driftedField(live({}), wanted)).toBeUndefined();
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

describe("an object that lacks fields", () => {
  it("is one in which fields are absent and none has another value", () => {
    const container = { name: "c", image: "i", env: [{ name: "A", value: "1" }] };
    expect(lacksFields(live({ args: undefined }), wanted)).toBe(true);
    expect(lacksFields({ spec: { template: { spec: { containers: [container] } } } }, wanted)).toBe(true);
    expect(lacksFields(live({}), wanted)).toBe(false);
    expect(lacksFields(live({ args: undefined, image: "theirs" }), wanted)).toBe(false);
    expect(lacksFields(live({ args: ["-x", "-y"] }), wanted)).toBe(false);
  });
});
