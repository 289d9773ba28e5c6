import type { UnusableNetworks } from "../api/injection-settings.ts";
import { isNamespaceName, isObjectName } from "../api/legal-names.ts";
import { NETWORKS_ANNOTATION } from "../api/names.ts";
import type { AdmissionAnswer, AdmissionRequest, Review } from "../kube/server/admission-server.ts";
import { shortText } from "../kube/short-text.ts";
import { type Attachment, type InjectablePod, planInjection } from "./injection.ts";
import type { NetworkLookup, NetworkLookups } from "./network-catalog.ts";
import {
  MULTUS_NAMESPACE,
  type RequestedNetwork,
  type RequestedNetworks,
  requestedNetworks,
} from "./requested-networks.ts";

export interface PodReviewOptions {
  readonly networks: NetworkLookups;
  /** What happens to a pod that multus could not attach to one of its networks. */
  readonly unusableNetworks: UnusableNetworks;
  /** Whose networks pods of all namespaces may use. Undefined where multus does not isolate namespaces. */
  readonly globalNamespaces: readonly string[] | undefined;
}

/** A pod that the kubelet mirrors from a file. The API server refuses any change of it. */
const MIRROR_ANNOTATION = "kubernetes.io/config.mirror";

/** A refusal names so many networks. */
const MAX_NAMED = 5;
/** The API server checks names after the webhooks. */
const MAX_NAME_CHARS = 253;
/** Some 4 kB in all, which is what the API server hands on. */
const MAX_WARNINGS = 16;

const NO_DEFINITIONS =
  "it asks for networks, but this cluster has no NetworkAttachmentDefinitions: install multus first.";

/** No pod learns whether a network exists in a namespace that is closed to it. */
const NOT_LOOKED_UP: NetworkLookup = { kind: "missing" };

type Lookups = ReadonlyMap<RequestedNetwork, NetworkLookup>;

/** Why multus would not attach a network, and what to do. */
interface Fault {
  readonly sentence: string;
  readonly advice: string;
}

/**
 * The pod webhook: resources and node labels for a pod's networks, or the reason of a refusal. Lookups at once when the
 * cache knows all networks. Rejects when the API server does not say whether one exists.
 */
export function podReview(options: PodReviewOptions): Review {
  return (request, signal) => {
    const pod: InjectablePod | null = request.object;
    const annotations = request.object?.metadata.annotations ?? {};
    if (request.operation !== "CREATE" || pod === null || MIRROR_ANNOTATION in annotations) return { allowed: true };
    // Runtimes call no CNI plugin for it.
    if (pod.spec?.hostNetwork === true) return { allowed: true };
    const requested = requestedNetworks(annotations, namespaceOf(request));
    const lookups = new Map<RequestedNetwork, NetworkLookup>();
    for (const network of requested.networks) {
      const isClosed = isIsolated(network, namespaceOf(request), options);
      const cached = isClosed ? NOT_LOOKED_UP : options.networks.cached(network);
      if (cached !== undefined) lookups.set(network, cached);
    }
    if (lookups.size === requested.networks.length) return answer(request, requested, lookups, options);
    return askApiServer(request, requested, lookups, options, signal).then(() =>
      answer(request, requested, lookups, options),
    );
  };
}

/** One request after the other, and none when enough is known for a refusal. */
async function askApiServer(
  request: AdmissionRequest,
  { networks }: RequestedNetworks,
  lookups: Map<RequestedNetwork, NetworkLookup>,
  options: PodReviewOptions,
  signal: AbortSignal,
): Promise<void> {
  let missing = [...lookups.values()].filter(({ kind }) => kind === "missing").length;
  for (const network of networks) {
    if (lookups.has(network)) continue;
    if (options.unusableNetworks === "Deny" && missing >= MAX_NAMED) return;
    const found = await options.networks.find(network, namespaceOf(request), signal);
    lookups.set(network, found);
    if (found.kind === "unsupported") return;
    if (found.kind === "missing") missing += 1;
  }
}

function answer(
  request: AdmissionRequest,
  requested: RequestedNetworks,
  lookups: Lookups,
  options: PodReviewOptions,
): AdmissionAnswer {
  const pod = `Pod ${describePod(request)}`;
  const faults = requested.networks.flatMap((network) => faultOf(network, request, lookups, options) ?? []);
  if (faults.length > 0 && options.unusableNetworks === "Deny") return denied(pod, faults);
  const { patch, warnings } = planInjection(request.object as InjectablePod, attachmentsOf(requested, lookups));
  const ofPod = [...requested.warnings, ...faults.map(({ sentence }) => sentence), ...undecided(requested, lookups)];
  return { allowed: true, patch, warnings: shortened([...ofPod.map((text) => `${pod}: ${text}`), ...warnings]) };
}

function attachmentsOf({ networks }: RequestedNetworks, lookups: Lookups): Attachment[] {
  return networks.flatMap((network) => {
    const found = lookups.get(network);
    const { namespace, name, count } = network;
    return found?.kind === "found" ? [{ namespace, name, count, annotations: found.annotations }] : [];
  });
}

function faultOf(
  network: RequestedNetwork,
  request: AdmissionRequest,
  lookups: Lookups,
  options: PodReviewOptions,
): Fault | undefined {
  const own = namespaceOf(request);
  if (isIsolated(network, own, options)) {
    const usable = [...new Set([own, ...(options.globalNamespaces ?? [])])].join(", ");
    return {
      sentence: `${named(network)}, is in a namespace whose networks pods of ${own} may not use: multus isolates namespaces.`,
      advice: `Use a network of one of these namespaces: ${usable}.`,
    };
  }
  if (lookups.get(network)?.kind !== "missing" || network.namespaceGuessed) return undefined;
  return { sentence: missingSentence(network), advice: "Create the network first, or correct the annotation." };
}

/** multus' own rule. It holds for the annotation with the networks, not for that with the default network. */
function isIsolated(network: RequestedNetwork, own: string, { globalNamespaces }: PodReviewOptions): boolean {
  const { namespace, annotation } = network;
  if (globalNamespaces === undefined || annotation !== NETWORKS_ANNOTATION || namespace === own) return false;
  return !globalNamespaces.includes(namespace);
}

/** Sentences about what can't be known here. */
function undecided({ networks }: RequestedNetworks, lookups: Lookups): string[] {
  const sentences = networks.flatMap((network) => {
    const kind = lookups.get(network)?.kind;
    if (kind === "unsupported") return [NO_DEFINITIONS];
    if (kind !== "missing" || !network.namespaceGuessed) return [];
    return [
      `${missingSentence(network)} It names no namespace, so ${MULTUS_NAMESPACE} was searched. Write <namespace>/<name>.`,
    ];
  });
  return [...new Set(sentences)];
}

function denied(pod: string, faults: readonly Fault[]): AdmissionAnswer {
  const sentences = faults.slice(0, MAX_NAMED).map(({ sentence }) => sentence);
  if (faults.length >= MAX_NAMED) sentences.push("Others may be missing too.");
  const advice = [...new Set(faults.map(({ advice }) => advice))];
  return {
    allowed: false,
    message: `${pod}: ${sentences.join(" ")} The pod would stay in ContainerCreating. ${advice.join(" ")}`,
  };
}

function missingSentence(network: RequestedNetwork): string {
  return `${named(network)}, does not exist.`;
}

function named({ namespace, name, annotation }: RequestedNetwork): string {
  const legal = isNamespaceName(namespace) && isObjectName(name);
  const text = legal ? `${namespace}/${name}` : JSON.stringify(`${namespace}/${name}`.slice(0, 64));
  return `NetworkAttachmentDefinition ${text}, named by annotation ${annotation}`;
}

function shortened(warnings: readonly string[]): readonly string[] {
  if (warnings.length <= MAX_WARNINGS) return warnings;
  const left = warnings.length - MAX_WARNINGS;
  return [...warnings.slice(0, MAX_WARNINGS), `There are ${left} more warnings of this kind.`];
}

function namespaceOf(request: AdmissionRequest): string {
  return request.namespace ?? "default";
}

/** As namespace and name, or with `*` for the part that the API server adds later. */
export function describePod(request: AdmissionRequest): string {
  const { name, generateName } = request.object?.metadata ?? {};
  return `${namespaceOf(request)}/${shortText(name || `${generateName ?? ""}*`, MAX_NAME_CHARS)}`;
}
