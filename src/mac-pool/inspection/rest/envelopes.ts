/** What the views come in: lists, events of a watch, and the problem that takes the place of an answer. */

import * as z from "zod";

const count = z.int().min(0);

/** `id`: the name of one item, which names the list. */
export function listSchema<T extends z.ZodType>(items: T, id: string) {
  return z
    .object({
      items: z.array(items),
      continue: z
        .string()
        .exactOptional()
        .describe("Ask again with ?continue= and the same filter for the next items; absent on the last page."),
      total: count.describe("Number of all items that match."),
      partial: z
        .array(z.string())
        .exactOptional()
        .describe("Replicas that did not answer in time; absent when all did."),
    })
    .meta({ id: `${id}List` });
}

export interface ListView<T> {
  readonly items: readonly T[];
  /** Ask again with `?continue=` and the same filter for the next items; absent on the last page. */
  readonly continue?: string;
  /** Number of all that match. */
  readonly total: number;
  /** Replicas that did not answer in time. */
  readonly partial?: readonly string[];
}

/**
 * One server-sent event of `?watch=true`; its `id` is for Last-Event-ID. RESET makes what the reader knows invalid. With
 * `sendInitialEvents=true` an ADDED for each item and a BOOKMARK follow. Otherwise the reader has to list anew. RESET and
 * BOOKMARK have no object.
 */
export interface WatchEventView<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "RESET" | "BOOKMARK";
  readonly object?: T;
  /** With the BOOKMARK after the initial events: replicas that did not answer in time. */
  readonly partial?: readonly string[];
}

/** RFC 9457. */
export const problemSchema = z
  .object({
    type: z.string(),
    code: z.string().describe("Stable code, as MACPOOL_NOT_FOUND."),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string().describe("What is wrong and what to do, in one sentence."),
    parameter: z.string().exactOptional().describe("The parameter that is wrong."),
    didYouMean: z.string().exactOptional().describe("The nearest thing that exists."),
  })
  .meta({ id: "Problem" });
export type ProblemView = z.infer<typeof problemSchema>;
