import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CRDS, type CustomResourceDefinition, MAC_CLAIM_CRD, NODE_MACS_CRD } from "../../src/api/crds.ts";
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

const root = join(import.meta.dirname, "../..");
const textOf = (...patterns: string[]): string =>
  execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", ...patterns], { cwd: root })
    .toString()
    .trim()
    .split("\n")
    .map((file) => readFileSync(join(root, file), "utf8"))
    .join("\n");
/** Whoever declares a field does not read it, and the inspection page reads views. */
const code = textOf("src/**/*.ts", ":!src/api", ":!src/web");
const reference = textOf("docs/reference/*.md");
/** Types of Kubernetes: handed on whole, and described by its own documentation. */
const TYPES_OF_KUBERNETES = ["affinity", "tolerations", "namespaceSelector"];
/** In OpenShift's TLSSecurityProfile `type` says the same, and these are empty. */
const SAID_BY_THE_TYPE = ["old", "intermediate", "modern"];

/** Names of fields, by path. */
function fieldsOf(schema: StructuralSchema, path: string): [path: string, name: string][] {
  const below = Object.entries(schema.properties ?? {}).flatMap(([name, field]): [string, string][] => [
    [`${path}.${name}`, name],
    ...(TYPES_OF_KUBERNETES.includes(name) ? [] : fieldsOf(field, `${path}.${name}`)),
  ]);
  return schema.items ? [...below, ...fieldsOf(schema.items, `${path}[]`)] : below;
}

/** Paths of fields whose name is no word of the text. A name that is a word anyhow, such as `type`, passes. */
function unnamed(crd: CustomResourceDefinition, text: string): string[] {
  const words = new Set(text.match(/\w+/g));
  const { openAPIV3Schema = {} } = crd.spec.versions[0]?.schema ?? {};
  return fieldsOf(openAPIV3Schema, "").flatMap(([path, name]) => (words.has(name) ? [] : path));
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

  it("has no field that no code reads", () => {
    expect(unnamed(crd, code).filter((path) => !SAID_BY_THE_TYPE.includes(path.split(".").at(-1) ?? ""))).toEqual([]);
  });

  it("has no field that the reference does not name", () => {
    expect(unnamed(crd, reference)).toEqual([]);
  });

  it("stores one version and serves all with the same schema", () => {
    const { versions } = crd.spec;
    expect(versions.filter(({ storage }) => storage)).toHaveLength(1);
    expect(new Set(versions.map(({ schema }) => JSON.stringify(schema))).size).toBe(1);
  });
});
