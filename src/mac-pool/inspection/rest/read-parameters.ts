import type { z } from "zod";
import { badRequest } from "../queries/problem.ts";

/** What a path or a query says, by its schema, whose messages go on after the name of the parameter. Throws a Problem. */
export function readParameters(schema: z.ZodType, value: unknown): unknown {
  const given = value as Readonly<Record<string, unknown>>;
  const repeated = Object.keys(given).find((key) => Array.isArray(given[key]));
  if (repeated !== undefined) {
    throw badRequest(repeated, `Parameter ${quote(repeated)} is there more than once: write it once.`);
  }
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  if (issue?.code === "unrecognized_keys") {
    const key = issue.keys[0] ?? "";
    throw badRequest(key, `There is no parameter ${quote(key)} here: leave it out.`);
  }
  const parameter = String(issue?.path[0] ?? "");
  const isMissing = given[parameter] === undefined;
  const detail = isMissing ? `Parameter ${parameter} is missing: it` : `Parameter ${parameter}`;
  throw badRequest(parameter, `${detail} ${issue?.message}.`);
}

/** Somebody else wrote it; a name of ours is never as long. */
const MAX_SHOWN = 64;
const quote = (name: string): string => JSON.stringify(name.slice(0, MAX_SHOWN));
