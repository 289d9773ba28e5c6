import { describe, expect, it } from "vitest";
import { CRDS, MAC_CLAIM_CRD, NODE_MACS_CRD } from "../../src/api/crds.ts";
import type { StructuralSchema } from "../../src/api/structural-schema.ts";

/** Paths of fields for which `kubectl explain` would have nothing to say. */
function undescribed(schema: StructuralSchema, path: string): string[] {
  const own = schema.description === undefined || schema.description === "" ? [path] : [];
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    undescribed(field, `${path}.${name}`),
  );
  const items = schema.items?.properties ?? {};
  const elements = Object.entries(items).flatMap(([name, field]) => undescribed(field, `${path}[].${name}`));
  return [...own, ...fields, ...elements];
}

/** Paths of texts and lists of any length. */
function unbounded(schema: StructuralSchema, path: string): string[] {
  const isBounded =
    schema.type === "string"
      ? schema.maxLength !== undefined || schema.enum !== undefined
      : schema.type !== "array" || schema.maxItems !== undefined;
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    unbounded(field, `${path}.${name}`),
  );
  return [...(isBounded ? [] : [path]), ...fields, ...(schema.items ? unbounded(schema.items, `${path}[]`) : [])];
}

describe.each([MAC_CLAIM_CRD, NODE_MACS_CRD].map((crd) => [crd.spec.names.kind, crd] as const))(
  "the CRD of %s, which requests and nodes write",
  (_kind, crd) => {
    it("bounds every text and every list", () => {
      const { properties = {} } = crd.spec.versions[0]?.schema.openAPIV3Schema ?? {};
      const { metadata: _, apiVersion: __, kind: ___, ...own } = properties;
      expect(unbounded({ properties: own }, "")).toEqual([]);
    });
  },
);

describe.each(CRDS.map((crd) => [crd.spec.names.kind, crd] as const))("the CRD of %s", (_kind, crd) => {
  it("describes every field", () => {
    const [version] = crd.spec.versions;
    const { metadata: _, ...properties } = version?.schema.openAPIV3Schema.properties ?? {};
    expect(undescribed({ description: "root", properties }, "")).toEqual([]);
  });

  it("stores one version and serves all with the same schema", () => {
    const { versions } = crd.spec;
    expect(versions.filter(({ storage }) => storage)).toHaveLength(1);
    expect(new Set(versions.map(({ schema }) => JSON.stringify(schema))).size).toBe(1);
  });
});
