import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CRDS } from "../../src/api/crds.ts";
import { mustRun, runCommand } from "../cluster/command.ts";
import type { ControlPlaneAccess } from "../cluster/control-plane/access.ts";
import { borrowControlPlane } from "../support/borrowed-control-plane.ts";

const MANIFESTS = join(import.meta.dirname, "../../deploy/crds");

interface ServedSchema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, ServedSchema>>;
  readonly items?: ServedSchema;
  readonly additionalProperties?: ServedSchema | boolean;
  readonly "x-kubernetes-group-version-kind"?: readonly { readonly version: string; readonly kind: string }[];
}

interface ServedDocument {
  readonly components: { readonly schemas: Readonly<Record<string, ServedSchema>> };
}

/** Paths and descriptions of the fields below, as `kubectl explain --recursive` lists them. */
function fieldsOf({ properties = {}, items, additionalProperties }: ServedSchema, path: string): [string, string][] {
  const own = Object.entries(properties).flatMap(([name, field]): [string, string][] => [
    [`${path}.${name}`, field.description ?? ""],
    ...fieldsOf(field, `${path}.${name}`),
  ]);
  const values = typeof additionalProperties === "object" ? fieldsOf(additionalProperties, `${path}{}`) : [];
  return [...own, ...(items === undefined ? [] : fieldsOf(items, `${path}[]`)), ...values];
}

const versions = CRDS.flatMap(({ spec }) =>
  spec.versions.map(({ name, schema }) => [String(spec.names.kind), name, spec.group, schema.openAPIV3Schema] as const),
);

describe("what the API server serves for kubectl explain", () => {
  let controlPlane: ControlPlaneAccess;

  const kubectl = (...args: string[]): string[] => [
    controlPlane.kubectlPath,
    "--kubeconfig",
    controlPlane.kubeconfig,
    ...args,
  ];

  beforeAll(async () => {
    controlPlane = await borrowControlPlane();
    await mustRun(kubectl("apply", "--server-side", "-f", MANIFESTS));
    await mustRun(kubectl("wait", "--for=condition=Established", "-f", MANIFESTS, "--timeout=30s"));
  });
  afterAll(async () => {
    await controlPlane?.[Symbol.asyncDispose]();
  });

  async function served(group: string, version: string, kind: string): Promise<ServedSchema | undefined> {
    const { code, stdout } = await runCommand(kubectl("get", "--raw", `/openapi/v3/apis/${group}/${version}`));
    if (code !== 0) return undefined;
    const { schemas } = (JSON.parse(stdout) as ServedDocument).components;
    return Object.values(schemas).find((schema) =>
      schema["x-kubernetes-group-version-kind"]?.some((each) => each.kind === kind && each.version === version),
    );
  }

  it.each(versions)("has a sentence for %s of %s and each of its fields", async (kind, version, group, written) => {
    await expect.poll(() => served(group, version, kind), { timeout: 30_000 }).toBeDefined();
    const schema = await served(group, version, kind);
    const fields = fieldsOf(schema ?? {}, "");
    expect(fields.map(([path]) => path)).toEqual(
      expect.arrayContaining(fieldsOf({ ...written, properties: ownOf(written.properties) }, "").map(([path]) => path)),
    );
    const described: [string, string][] = [["", schema?.description ?? ""], ...fields];
    expect(described.filter(([, text]) => text.trim() === "")).toEqual([]);
  });
});

/** The API server puts its own type in place of metadata. */
function ownOf(properties: ServedSchema["properties"] = {}): NonNullable<ServedSchema["properties"]> {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => name !== "metadata"));
}
