/** What inspection says of what does not agree. The command line and the page get the types from `views.ts`. */

import * as z from "zod";
import { FINDING_CODES } from "../../../api/finding-codes.ts";
import { OWNER_KINDS } from "../../../api/mac-claim.ts";

const time = z.iso.datetime();
const count = z.int().min(0);

const findingViewSchema = z.object({
  code: z.enum(FINDING_CODES),
  mac: z.string().describe("A MAC address: six lower-case octets joined by colons.").exactOptional(),
  pool: z.string().exactOptional(),
  owner: z
    .object({ kind: z.enum(OWNER_KINDS), namespace: z.string(), name: z.string() })
    .exactOptional()
    .describe("The object that it is about."),
  network: z
    .object({ namespace: z.string(), name: z.string() })
    .exactOptional()
    .describe("The NetworkAttachmentDefinition that it is about, or the first of several."),
  bridge: z.string().exactOptional().describe("The bridge of nodes that it is about."),
  since: time.exactOptional(),
  message: z.string().describe("What is inconsistent."),
  advice: z.string().describe("What to do about it."),
});
export type FindingView = z.infer<typeof findingViewSchema>;

export const consistencyViewSchema = z
  .object({
    findings: z.array(findingViewSchema).describe("Empty when everything agrees."),
    total: count.describe("Number of all findings; the list is cut at 1,000."),
    adoption: z.object({
      ended: z.boolean(),
      message: z
        .string()
        .describe(
          "How far it is, as the leader says in the conditions of the pools; in a namespace, whether it has ended.",
        ),
    }),
    leader: z
      .object({ identity: z.string(), since: time.exactOptional(), renewed: time.exactOptional() })
      .nullable()
      .describe("Who does the work that one replica does for all; null when nobody does, or when it can't be told."),
    replicas: z.array(z.object({ name: z.string(), answers: z.boolean() })),
    caches: z.array(z.object({ kind: z.string(), objects: count })).describe("What this replica knows."),
  })
  .meta({ id: "Consistency" });
export type ConsistencyView = z.infer<typeof consistencyViewSchema>;
