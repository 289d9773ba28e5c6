/** What a question may say in its path and its query: the schemas that validate it and describe it in /openapi.json. */

import * as z from "zod";
import { parseMac } from "../../../api/mac.ts";
import { CLAIM_ORIGINS, OWNER_KINDS, SHOWN_PHASES } from "../../../api/mac-claim.ts";
import { badRequest } from "./problem.ts";

const MAX_LIMIT = 5_000;
/** A network has up to 3 kB. */
const MAX_NETWORKS = 500;
const MAX_CELLS = 4_096;
const MAX_TEXT = 253;
const MAX_TOKEN = 1_024;

/** Each check of a parameter says the same: what it must be. It goes on after the name of the parameter. */
const LABEL = "must be a Kubernetes name: a-z, 0-9 and -, at most 63 characters";
const OBJECT_NAME = `must be a Kubernetes name: a-z, 0-9, - and ., at most ${MAX_TEXT} characters`;

/** RFC 1123, as Kubernetes names namespaces and objects. */
const label = z.string(LABEL).regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, LABEL);
const objectName = z
  .string(OBJECT_NAME)
  .max(MAX_TEXT, OBJECT_NAME)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, OBJECT_NAME);

/** Any of the notations that parseMac reads. */
const MAC_PATTERN =
  /^([0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{2}(-[0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{4}(\.[0-9A-Fa-f]{4}){2}|[0-9A-Fa-f]{12})$/;
const NOT_A_MAC =
  "must be a MAC address: six octets, as 02:00:00:00:00:01, 02-00-00-00-00-01, 0200.0000.0001 or 020000000001";
const mac = z
  .string(NOT_A_MAC)
  .regex(MAC_PATTERN, NOT_A_MAC)
  .refine((text) => parseMac(text) !== undefined, NOT_A_MAC)
  .describe("A MAC address in any notation.");

const textUpTo = (most: number, what = `must have 1 to ${most} characters`) =>
  z.string(what).min(1, what).max(most, what);
const text = textUpTo(MAX_TEXT);
const oneOf = <const T extends readonly string[]>(values: T) => z.enum(values, `must be one of ${values.join(", ")}`);
const flag = oneOf(["true", "false"]).transform((value) => value === "true");
const whole = (most: number) => {
  const message = `must be a whole number from 1 to ${most}`;
  return z.coerce.number<string>(message).int(message).min(1, message).max(most, message);
};

const watch = {
  watch: flag.optional().describe("true: server-sent events about the changes of the list, without an end."),
  since: textUpTo(MAX_TOKEN, "must be the ID of an event or an ETag: leave it out to begin anew")
    .optional()
    .describe(
      "With watch, in place of the header Last-Event-ID: the ID of the last event, or the ETag of a list of claims.",
    ),
  sendInitialEvents: flag
    .optional()
    .describe("With watch, true: after each RESET come all items as ADDED, and a BOOKMARK after the last one."),
};

const namespace = label
  .optional()
  .describe("Only this namespace. Whoever may read claims in this namespace only has to name it.");

export const poolsQuery = z.strictObject({ ...watch });
export const poolParams = z.strictObject({ name: objectName.describe("Name of a MACPool.") });
export const mapQuery = z.strictObject({
  cells: whole(MAX_CELLS).default(1_024).describe("At most so many cells."),
  from: mac.optional().describe("First address of the part to show, in any notation."),
  to: mac.optional().describe("Last address of the part to show, in any notation."),
});
const page = {
  continue: textUpTo(MAX_TOKEN, "must be the token of the page before: leave it out for the first page")
    .optional()
    .describe("Token of the page before; good for five minutes."),
};
export const claimsQuery = z.strictObject({
  mac: text.optional().describe("An address in any notation, or a part of one in hex digits."),
  owner: text.optional().describe("An owner: name, namespace/name or kind/namespace/name."),
  search: text.optional().describe("A part of the address, or of an owner's namespace/name."),
  namespace,
  phase: oneOf(SHOWN_PHASES).optional().describe("Phase of the claim."),
  origin: oneOf(CLAIM_ORIGINS).optional().describe("How the address came into use."),
  pool: text.optional().describe("The MACPool that the claim names."),
  network: text.optional().describe("A NetworkAttachmentDefinition of an owner's interface: namespace/name."),
  outOfRange: text.optional().describe("A MACPool: its claims for addresses outside its ranges, as many as it counts."),
  limit: whole(MAX_LIMIT).default(500).describe("Items of a page."),
  ...page,
  ...watch,
});
export const claimParams = z.strictObject({ mac });
const networksPage = { limit: whole(MAX_NETWORKS).default(100).describe("Items of a page."), ...page };
export const networksQuery = z.strictObject({
  search: text.optional().describe("A part of namespace/name, or of the name of the bridge."),
  bridge: text.optional().describe("A bridge of the nodes."),
  namespace,
  ...networksPage,
  ...watch,
});
export const networkParams = z.strictObject({
  namespace: label.describe("Namespace of the NetworkAttachmentDefinition."),
  name: objectName.describe("Name of the NetworkAttachmentDefinition."),
});
export const bridgesQuery = z.strictObject({
  search: text.optional().describe("A part of the name."),
  namespace,
  ...networksPage,
  ...watch,
});
export const namespaceQuery = z.strictObject({ namespace });
export const watchedNamespaceQuery = z.strictObject({ namespace, ...watch });
export const ownerParams = z.strictObject({
  kind: oneOf(OWNER_KINDS),
  namespace: label.describe("Namespace of the object."),
  name: objectName.describe("Name of the object."),
});
export const denialsQuery = z.strictObject({
  namespace,
  name: text.optional().describe("Name of the object, or its generateName followed by *."),
  code: text.optional().describe("Code of the reason."),
  local: flag.optional().describe("true: only what the replica that answers has refused."),
  scope: label.optional().describe("Tell what somebody may see who may read claims in this namespace only."),
  ...watch,
});
export const checkQuery = z.strictObject({
  mac,
  namespace: label.describe("Namespace of the VM that would ask for the address."),
});

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
