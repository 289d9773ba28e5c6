import { formatMac, type Mac } from "../../api/mac.ts";
import type { ClaimOwner } from "../../api/mac-claim.ts";
import type { ConflictPolicy } from "../../api/mac-pool.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { JsonPatchOp } from "../../kube/client/json-patch.ts";
import { textAt } from "../../kube/json-path.ts";
import type { Log } from "../../kube/log.ts";
import type { AdmissionAnswer, AdmissionRequest } from "../../kube/server/admission-server.ts";
import type { Describe, NamedText } from "../claims/named-text.ts";
import type { ObjectReference } from "../claims/owner.ts";
import { noNamespace, type Refusal, unavailable } from "../claims/refusals.ts";
import type { Networks } from "../cluster/network-domains.ts";
import type { AttachedMac } from "../objects/listed-macs.ts";
import type { PoolIndex } from "../pools/pool-index.ts";
import type { ClaimLedger } from "./claim-ledger.ts";
import type { ClaimRequest, ClaimResult } from "./claim-request.ts";
import type { InterfaceStep } from "./interface-plan.ts";
import type { NamespaceLabels } from "./namespace-labels.ts";
import type { RunExclusively } from "./run-exclusively.ts";

/** What every review needs. */
export interface AdmissionParts {
  readonly ledger: ClaimLedger;
  readonly starts: RunExclusively;
  /** Policy of the pool that serves a namespace, as far as the caches know. */
  readonly policyIn: (namespace: string) => ConflictPolicy | undefined;
  /** Owners of an address, as far as the cache knows. */
  readonly ownersOf: (mac: Mac) => readonly ClaimOwner[];
  /** Addresses that a VM lists; undefined when there is no such VM. */
  readonly macsOfMachine: {
    readonly cached: (vm: ObjectReference) => readonly AttachedMac[] | undefined;
    readonly live: (vm: ObjectReference, signal: AbortSignal) => Promise<readonly AttachedMac[] | undefined>;
  };
  readonly networks: Networks;
  /** Whether the VM has received another one by live migration. */
  readonly hasReceived: (vm: ObjectReference, signal: AbortSignal) => Promise<boolean>;
  readonly index: PoolIndex;
  readonly namespaces: NamespaceLabels;
  /** Called for each VM that was let start, or get what is plugged in, although it could not be judged. */
  readonly onUnjudged: (vm: ObjectReference) => void;
  readonly log: Log;
}

/** An answer, and why it is a refusal if it is one: the reason goes into metrics, not to the caller. */
export interface Decision {
  readonly answer: AdmissionAnswer;
  readonly refusal: Refusal | undefined;
  /** Other owners that the answer names, and the answer as it is told to a reader who may not know all of them. */
  readonly naming?: {
    readonly owners: readonly ClaimOwner[];
    readonly render: (describe: Describe) => AdmissionAnswer;
  };
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
  const answer = { allowed: false, message: refusal.message, code } as const;
  const { naming } = refusal;
  if (naming === undefined) return { answer, refusal };
  const render = (describe: Describe): AdmissionAnswer => ({ ...answer, message: naming.render(describe) });
  return { answer, refusal, naming: { owners: naming.owners, render } };
}

/**
 * The object of a request as an owner. A creation has no UID yet, and no name where the API server completes one;
 * an update has both, from the object as it is stored.
 */
export function objectOfRequest(kind: ObjectReference["kind"], request: AdmissionRequest): ObjectReference {
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

export type CarriedOut =
  /** `macs`: what to write into the object, by the index of the interface. */
  | { readonly ok: true; readonly macs: ReadonlyMap<number, string>; readonly warnings: readonly NamedText[] }
  | { readonly ok: false; readonly refusal: Refusal };

/** Claims what the plan of an object wants, and tells which addresses to write into the object. */
export async function carryOut(
  { steps, listed }: { readonly steps: readonly InterfaceStep[]; readonly listed: ReadonlySet<Mac> },
  request: Omit<ClaimRequest, "pool" | "wantedInterfaces" | "listed">,
  parts: AdmissionParts,
  signal: AbortSignal,
): Promise<CarriedOut> {
  const wantedInterfaces = steps.flatMap((step) => {
    if (step.action === "write") return [];
    const { name, network } = step.to;
    const { mac, had } = step.action === "claim" ? step : { mac: undefined, had: false };
    return [{ interface: name, network, mac, had }];
  });
  const claimed = await askLedger({ ...request, wantedInterfaces, listed }, parts, signal);
  if (!claimed.ok) return claimed;
  const granted = claimed.macs.values();
  const macs = new Map<number, string>();
  for (const step of steps) {
    if (step.action === "write") macs.set(step.to.index, step.text);
    else {
      const mac = granted.next().value;
      if (step.action === "allocate" && mac !== undefined) macs.set(step.to.index, formatMac(mac));
    }
  }
  return { ok: true, macs, warnings: claimed.warnings };
}

/**
 * Whether an object that opts out is left alone. Otherwise it gets no address, and those that it lists are claimed. A refusal
 * where its namespace can't be read.
 */
export async function mayOptOut(
  namespace: string,
  { namespaces, index, log }: AdmissionParts,
  signal: AbortSignal,
): Promise<boolean | Refusal> {
  try {
    const labels = await namespaces.labelsOf(namespace, signal);
    return labels === undefined || index.mayOptOut(labels);
  } catch (error) {
    log.error({ err: error, namespace }, "could not read the labels of a namespace");
    return unavailable("the API server did not answer");
  }
}

/** An admission with a patch and warnings, each only where there is one. */
export function admitted(patch: readonly JsonPatchOp[], warnings: readonly NamedText[]): Decision {
  const answerWith = (texts: readonly string[]): AdmissionAnswer => ({
    allowed: true,
    ...(patch.length > 0 && { patch }),
    ...(texts.length > 0 && { warnings: texts }),
  });
  const answer = answerWith(warnings.map(({ message }) => message));
  const owners = warnings.flatMap(({ naming }) => naming?.owners ?? []);
  if (owners.length === 0) return { answer, refusal: undefined };
  const render = (describe: Describe): AdmissionAnswer =>
    answerWith(warnings.map(({ message, naming }) => naming?.render(describe) ?? message));
  return { answer, refusal: undefined, naming: { owners, render } };
}

const NOTHING_TO_CLAIM: ClaimResult = { ok: true, macs: [], warnings: [] };

/** Claims in the pool of the namespace. A broken connection or a refusing API server is a refusal, never an exception. */
export async function askLedger(
  request: Omit<ClaimRequest, "pool">,
  parts: AdmissionParts,
  signal: AbortSignal,
): Promise<ClaimResult> {
  if (request.wantedInterfaces.length === 0) return NOTHING_TO_CLAIM;
  const { namespace } = request.ref;
  try {
    const labels = await parts.namespaces.labelsOf(namespace, signal);
    if (labels === undefined) return { ok: false, refusal: noNamespace(namespace) };
    return await parts.ledger.claim({ ...request, pool: parts.index.poolFor(labels) }, signal);
  } catch (error) {
    parts.log.error({ err: error, namespace }, "MAC addresses could not be claimed");
    const cause =
      error instanceof ApiError ? `the API server answered "${error.message}"` : "the API server did not answer";
    return { ok: false, refusal: unavailable(cause) };
  }
}
