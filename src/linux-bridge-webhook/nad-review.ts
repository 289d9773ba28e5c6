/** The webhook of NetworkAttachmentDefinitions: what the lint finds, as warnings or as a refusal. */

import type { NadLint } from "../api/nad-lint-setting.ts";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../api/names.ts";
import type { KubeObject } from "../kube/client/resource.ts";
import { textAt } from "../kube/json-path.ts";
import type { AdmissionAnswer, AdmissionRequest } from "../kube/server/admission-server.ts";
import type { Finding } from "../nad-lint/finding.ts";
import { type ClusterFacts, lintNetwork } from "../nad-lint/lint.ts";

export interface NadReviewOptions {
  readonly mode: Exclude<NadLint, "Off">;
  readonly nodesWith: NonNullable<ClusterFacts["nodesWith"]>;
  readonly bridgesOn: NonNullable<ClusterFacts["bridgesOn"]>;
  /** Another network than `namespace/name` that leads to the same bridge and VLAN, as a message speaks of it. */
  readonly sameSegment: (segment: string, namespace: string, name: string) => string | undefined;
  /** Called for each finding that the user sees. */
  readonly onFinding: (finding: Finding) => void;
}

/** The API server gives a client 4,096 characters of warnings, and cuts each at 256 where there are more. */
const MAX_WARNINGS = 15;
const MAX_REASONS = 5;
/** Names have up to 253 characters. The message has to fit behind them. */
const MAX_NAME_CHARS = 60;

export function nadReview(options: NadReviewOptions): (request: AdmissionRequest) => AdmissionAnswer {
  return (request) => {
    const { object, oldObject } = request;
    // Who only labels or deletes a network did not write its configuration.
    if (object === null || object.metadata.deletionTimestamp != null || isSame(object, oldObject))
      return { allowed: true };
    const where = `NetworkAttachmentDefinition ${describeNad(request)}`;
    const findings = findingsIn(object, request, options);
    for (const finding of findings) options.onFinding(finding);
    const errors = findings.filter(({ severity }) => severity === "error");
    const refused = options.mode === "Enforce" ? newSince(oldObject, errors, request, options) : [];
    if (refused.length === 0) return { allowed: true, warnings: shorten(findings, MAX_WARNINGS, where) };
    return { allowed: false, message: `${where}: ${shorten(refused, MAX_REASONS).join(" ")}` };
  };
}

/** `namespace/name`, cut where a name is very long. */
export function describeNad({ namespace = "default", name, object }: AdmissionRequest): string {
  const text = name || object?.metadata.name || `${object?.metadata.generateName ?? ""}*`;
  return `${namespace}/${text.length > MAX_NAME_CHARS ? `${text.slice(0, MAX_NAME_CHARS)}...` : text}`;
}

function isSame(object: KubeObject, oldObject: KubeObject | null): boolean {
  if (oldObject === null) return false;
  const [resource, before] = [object, oldObject].map(
    ({ metadata }) => metadata.annotations?.[NAD_RESOURCE_NAME_ANNOTATION],
  );
  return configOf(object) === configOf(oldObject) && resource === before;
}

const configOf = (nad: KubeObject): string => textAt(nad, "spec", "config");

function findingsIn(nad: KubeObject, request: AdmissionRequest, options: NadReviewOptions): Finding[] {
  const { namespace = "default" } = request;
  const { name = "", annotations = {} } = nad.metadata;
  const network = { name, annotations, config: configOf(nad) };
  const findings = lintNetwork(network, {
    nodesWith: options.nodesWith,
    bridgesOn: options.bridgesOn,
    sameSegment: (segment) => options.sameSegment(segment, namespace, name),
  });
  return findings.filter(({ severity }) => severity !== "note");
}

/** A network that was wrong before may be corrected step by step. */
function newSince(
  before: KubeObject | null,
  errors: readonly Finding[],
  request: AdmissionRequest,
  options: NadReviewOptions,
): readonly Finding[] {
  if (before === null || errors.length === 0) return errors;
  const known = new Set(findingsIn(before, request, options).map(({ message }) => message));
  return errors.filter(({ message }) => !known.has(message));
}

/** With `where`, each line names the object. */
function shorten(findings: readonly Finding[], limit: number, where?: string): string[] {
  const prefix = where === undefined ? "" : `${where}: `;
  const lines = findings.map(({ message }) => prefix + message);
  if (lines.length <= limit) return lines;
  const shown = lines.slice(0, limit - 1);
  return [...shown, `${prefix}${lines.length - shown.length} more: see kubectl macpool lint -f FILE.`];
}
