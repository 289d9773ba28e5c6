/** Turns a zod schema into the structural OpenAPI v3 schema that a CustomResourceDefinition takes. */

import * as z from "zod";

/** A JSON Schema node of the subset that CRDs know. */
export type StructuralSchema = {
  type?: string;
  description?: string;
  format?: string;
  nullable?: boolean;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  required?: string[];
  properties?: Record<string, StructuralSchema>;
  items?: StructuralSchema;
  additionalProperties?: StructuralSchema;
  [extension: `x-kubernetes-${string}`]: unknown;
};

type JsonSchema = Record<string, unknown>;

const KEPT = [
  "description",
  "type",
  "format",
  "nullable",
  "enum",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "maxProperties",
  "required",
] as const;

/**
 * Keeps what CRDs accept: zod's bounds of safe integers become `format: int64`, its patterns for formats are left to the
 * API server's own check of the format.
 */
export function structuralSchema(schema: z.ZodType): StructuralSchema {
  return convert(z.toJSONSchema(schema, { target: "openapi-3.0", io: "input" }) as JsonSchema);
}

function convert(source: JsonSchema): StructuralSchema {
  const target: Record<string, unknown> = {};
  for (const key of KEPT) if (source[key] !== undefined) target[key] = source[key];
  for (const [key, value] of Object.entries(source)) if (key.startsWith("x-kubernetes-")) target[key] = value;
  if (source.type === "integer") Object.assign(target, integer(source, target));
  const properties = source.properties as Record<string, JsonSchema> | undefined;
  const additional = source.additionalProperties as JsonSchema | boolean | undefined;
  if (properties !== undefined && Object.keys(properties).length > 0) {
    target.properties = Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, convert(value)]));
  } else if (typeof additional === "object" && Object.keys(additional).length > 0) {
    target.additionalProperties = convert(additional);
  }
  if (source.items !== undefined) target.items = convert(source.items as JsonSchema);
  return target as StructuralSchema;
}

function integer(source: JsonSchema, target: Record<string, unknown>): StructuralSchema {
  if (target.minimum === Number.MIN_SAFE_INTEGER) delete target.minimum;
  if (target.maximum === Number.MAX_SAFE_INTEGER) delete target.maximum;
  const small = typeof source.maximum === "number" && source.maximum <= 2 ** 31 - 1;
  return { format: small ? "int32" : "int64" };
}
