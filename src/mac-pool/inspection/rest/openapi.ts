/** /openapi.json: OpenAPI 3.1, from the schemas that validate questions and shape answers. */

import * as z from "zod";
import { MAC_POOL_TOKEN_HEADER, PRODUCT_VERSION } from "../../../api/names.ts";
import { problemSchema } from "./envelopes.ts";
import { OPERATIONS, type Operation } from "./operations.ts";
import { PROBLEM_STATUSES } from "./problem.ts";

const PREFIX = "#/components/schemas/";

export function openApiDocument(): object {
  const { schemas } = z.toJSONSchema(z.globalRegistry, { uri: (id) => `${PREFIX}${id}` });
  return {
    openapi: "3.1.0",
    info: {
      title: "MAC pool inspection",
      version: PRODUCT_VERSION,
      description: "Who has which MAC address. Read only; any replica answers from what it watches.",
    },
    security: [{ bearer: [] }, { proxied: [] }, { certificate: [] }],
    paths: Object.fromEntries(OPERATIONS.map((one) => [documentedPath(one), { get: describe(one) }])),
    components: {
      // By name: the registry's order is that in which modules were loaded.
      schemas: Object.fromEntries(
        Object.entries(schemas)
          .toSorted(([one], [other]) => (one < other ? -1 : 1))
          .map(([id, schema]) => [id, withoutIds(schema)]),
      ),
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        proxied: {
          type: "apiKey",
          in: "header",
          name: MAC_POOL_TOKEN_HEADER,
          description: "Bearer <token>, where a proxy takes Authorization for itself.",
        },
        certificate: { type: "mutualTLS", description: "A client certificate of the cluster." },
      },
    },
  };
}

function documentedPath({ path }: Operation): string {
  return path.replaceAll(/:([a-z]+)/g, "{$1}");
}

function describe({ id, summary, params, query, answer, watch }: Operation): object {
  const stream =
    watch === undefined
      ? {}
      : { "text/event-stream": { schema: { type: "string", description: "With watch=true: one watch event each." } } };
  return {
    operationId: id,
    summary,
    parameters: [...parametersOf(params, "path"), ...parametersOf(query, "query")],
    responses: {
      200: { description: summary, content: { "application/json": { schema: refTo(answer) }, ...stream } },
      ...Object.fromEntries(
        PROBLEM_STATUSES.map((status) => [
          status,
          { description: "A problem.", content: { "application/problem+json": { schema: refTo(problemSchema) } } },
        ]),
      ),
    },
  };
}

function parametersOf(schema: z.ZodType, place: "path" | "query"): object[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...own } = property as { readonly description?: string };
    return { name, in: place, required: place === "path" || required.includes(name), description, schema: own };
  });
}

function refTo(schema: z.ZodType): object {
  const id = z.globalRegistry.get(schema)?.id;
  if (id === undefined) throw new Error("an answer has a schema without a name");
  return { $ref: `${PREFIX}${id}` };
}

function withoutIds({ $schema: _, $id: __, ...schema }: Readonly<Record<string, unknown>>): object {
  return schema;
}
