import type { AdmissionAnswer, AdmissionRequest } from "../../kube/admission/admission-server.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Log } from "../../kube/log.ts";
import type { Party } from "../core/party.ts";
import type { PoolIndex } from "../core/pool-index.ts";
import { noNamespace, type Refusal, unavailable } from "../core/refusals.ts";
import type { ClaimLedger, ClaimRequest, ClaimResult } from "../ledger/claim-ledger.ts";
import type { StartGate } from "../ledger/start-gate.ts";
import { textAt } from "../objects/json-path.ts";
import type { NamespaceLabels } from "./namespace-labels.ts";

/** What every review needs. */
export interface AdmissionParts {
  readonly ledger: ClaimLedger;
  readonly starts: StartGate;
  /** Whether the VM waits to receive another one by live migration, as far as the cache knows. */
  readonly isReceiver: (namespace: string, name: string) => boolean;
  readonly index: PoolIndex;
  readonly namespaces: NamespaceLabels;
  readonly log: Log;
}

/** An answer, and why it is a refusal if it is one: the reason goes into metrics, not to the caller. */
export interface Decision {
  readonly answer: AdmissionAnswer;
  readonly refusal: Refusal | undefined;
}

export const UNCHANGED: Decision = { answer: { allowed: true }, refusal: undefined };

/**
 * A MAC in use is 403 like other refusals, not 409: clients take that for a conflict of versions, try again, and
 * kubectl appends advice about field managers.
 */
const HTTP_CODES: Readonly<Partial<Record<Refusal["code"], number>>> = {
  MACPOOL_PENDING_LIMIT: 429,
  MACPOOL_BUSY: 503,
  MACPOOL_UNAVAILABLE: 503,
};

export function denied(refusal: Refusal): Decision {
  const code = HTTP_CODES[refusal.code] ?? 403;
  return { answer: { allowed: false, message: refusal.message, code }, refusal };
}

/**
 * The object of a request as an owner. A creation has no UID yet, and no name where the API server completes one;
 * an update has both, from the object as it is stored.
 */
export function partyOfRequest(kind: Party["kind"], request: AdmissionRequest): Party {
  const name = request.name || textAt(request.object, "metadata", "name") || undefined;
  const generateName = textAt(request.object, "metadata", "generateName") || undefined;
  const uid = request.operation === "UPDATE" ? textAt(request.oldObject, "metadata", "uid") || undefined : undefined;
  return {
    kind,
    namespace: request.namespace ?? "",
    name,
    generateName: name === undefined ? generateName : undefined,
    uid,
  };
}

const NOTHING_TO_CLAIM: ClaimResult = { ok: true, macs: [], warnings: [] };

/** Claims in the pool of the namespace. A broken connection or a refusing API server is a refusal, never an exception. */
export async function askLedger(
  request: Omit<ClaimRequest, "pool">,
  parts: AdmissionParts,
  signal: AbortSignal,
): Promise<ClaimResult> {
  if (request.wishes.length === 0) return NOTHING_TO_CLAIM;
  const { namespace } = request.party;
  try {
    const found = parts.namespaces.labelsOf(namespace, signal);
    const labels = found instanceof Promise ? await found : found;
    if (labels === undefined) return { ok: false, refusal: noNamespace(namespace) };
    return await parts.ledger.claim({ ...request, pool: parts.index.poolFor(labels) }, signal);
  } catch (error) {
    parts.log.error({ err: error, namespace }, "claims could not be recorded");
    const cause =
      error instanceof ApiError ? `the API server answered "${error.message}"` : "the API server did not answer";
    return { ok: false, refusal: unavailable(cause) };
  }
}
