import { DEFAULT_NETWORK_ANNOTATION, NETWORKS_ANNOTATION, SYSTEM_NAMESPACE } from "../api/names.ts";
import { parseNetworkSelection, unreadable } from "../api/network-selection.ts";
import type { AdmissionAnswer, AdmissionRequest, Review } from "../kube/admission/admission-server.ts";
import { type Attachment, type InjectablePod, planInjection } from "./injection.ts";
import type { NetworkLookups, NetworkRef } from "./network-catalog.ts";

/** A pod that the kubelet mirrors from a file. The API server refuses any change of it. */
const MIRROR_ANNOTATION = "kubernetes.io/config.mirror";

/** multus looks here for a default network without a namespace, unless its own configuration says otherwise. */
const MULTUS_NAMESPACE = SYSTEM_NAMESPACE;

export interface PodReviewOptions {
  readonly networks: NetworkLookups;
  /** What happens to a pod that names a network which does not exist. */
  readonly missingNetwork: "deny" | "warn";
}

/** The pod webhook: resources and node labels for a pod's networks, or the reason of a refusal. */
export function podReview(options: PodReviewOptions): Review {
  return async (request, signal) => {
    const annotations = request.object?.metadata.annotations ?? {};
    if (request.operation !== "CREATE" || request.object === null || MIRROR_ANNOTATION in annotations) {
      return { allowed: true };
    }
    const asked = askedNetworks(annotations, request.namespace ?? "default");
    const found = await lookUp(asked.networks, options.networks, signal);
    const where = `Pod ${podName(request)}`;
    if (found.missing.length > 0 && options.missingNetwork === "deny") return denied(where, found.missing);
    const { patch, warnings } = planInjection(request.object as InjectablePod, found.attachments);
    return {
      allowed: true,
      patch,
      warnings: [
        ...asked.warnings,
        ...found.missing.map((network) => `${where}: ${missingSentence(network)}`),
        ...found.warnings.map((warning) => `${where}: ${warning}`),
        ...warnings,
      ],
    };
  };
}

interface AskedNetwork extends NetworkRef {
  readonly annotation: string;
  /** multus' own configuration gives the namespace, so a miss proves nothing. */
  readonly namespaceGuessed: boolean;
}

interface AskedNetworks {
  readonly networks: readonly AskedNetwork[];
  readonly warnings: readonly string[];
}

function askedNetworks(annotations: Readonly<Record<string, string>>, namespace: string): AskedNetworks {
  const networks: AskedNetwork[] = [];
  const warnings: string[] = [];
  const read = (annotation: string, defaultNamespace: string, guessed: boolean): void => {
    const selection = parseNetworkSelection(annotations[annotation] ?? "");
    if (selection.form === "malformed") {
      warnings.push(unreadable(annotation, selection.reason));
    }
    for (const element of "elements" in selection ? selection.elements : []) {
      const network = { namespace: element.namespace || defaultNamespace, name: element.name };
      networks.push({ ...network, annotation, namespaceGuessed: guessed && network.namespace === defaultNamespace });
    }
  };
  read(NETWORKS_ANNOTATION, namespace, false);
  read(DEFAULT_NETWORK_ANNOTATION, MULTUS_NAMESPACE, true);
  return { networks, warnings };
}

interface FoundNetworks {
  readonly attachments: readonly Attachment[];
  readonly missing: readonly AskedNetwork[];
  readonly warnings: readonly string[];
}

async function lookUp(
  networks: readonly AskedNetwork[],
  lookups: NetworkLookups,
  signal: AbortSignal,
): Promise<FoundNetworks> {
  const attachments: Attachment[] = [];
  const missing: AskedNetwork[] = [];
  const warnings: string[] = [];
  const answers = await Promise.all(networks.map((network) => lookups.find(network, signal)));
  for (const [index, network] of networks.entries()) {
    const answer = answers[index];
    const { namespace, name } = network;
    if (answer?.kind === "found") attachments.push({ namespace, name, annotations: answer.annotations });
    else if (answer?.kind === "unsupported") {
      warnings.push(
        "it asks for networks, but this cluster has no NetworkAttachmentDefinitions: install multus first.",
      );
    } else if (network.namespaceGuessed) {
      warnings.push(
        `${missingSentence(network)} It names no namespace, so ${MULTUS_NAMESPACE} was searched. Write <namespace>/<name>.`,
      );
    } else missing.push(network);
  }
  return { attachments, missing, warnings: [...new Set(warnings)] };
}

function denied(where: string, missing: readonly AskedNetwork[]): AdmissionAnswer {
  const sentences = [...new Set(missing.map(missingSentence))];
  return {
    allowed: false,
    message: `${where}: ${sentences.join(" ")} The pod would stay in ContainerCreating. Create the network first, or correct the annotation.`,
  };
}

function missingSentence({ namespace, name, annotation }: AskedNetwork): string {
  return `NetworkAttachmentDefinition ${namespace}/${name}, named by annotation ${annotation}, does not exist.`;
}

function podName(request: AdmissionRequest): string {
  const { name, generateName } = request.object?.metadata ?? {};
  return `${request.namespace ?? "default"}/${name || `${generateName ?? ""}*`}`;
}
