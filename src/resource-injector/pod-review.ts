import { DEFAULT_NETWORK_ANNOTATION, NETWORKS_ANNOTATION } from "../api/names.ts";
import type { AdmissionAnswer, AdmissionRequest, Review } from "../kube/admission/admission-server.ts";
import { type Attachment, type InjectablePod, planInjection } from "./injection.ts";
import type { NetworkLookups } from "./network-catalog.ts";
import { type NetworkSelection, parseNetworkSelections } from "./network-selection.ts";

/** A pod that the kubelet mirrors from a file: the API server refuses any change of it. */
const MIRROR_ANNOTATION = "kubernetes.io/config.mirror";

/** Where multus looks for a default network that names no namespace, unless its own configuration says otherwise. */
const MULTUS_NAMESPACE = "kube-system";

export interface PodReviewOptions {
  readonly networks: NetworkLookups;
  /** What happens to a pod that names a network which does not exist. */
  readonly missingNetwork: "deny" | "warn";
}

/** The pod webhook: which resources and node labels a pod gets for its networks, or why it can't be admitted. */
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

interface AskedNetwork extends NetworkSelection {
  readonly annotation: string;
  /** Whether it is multus' own configuration that tells the namespace: then a miss proves nothing. */
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
    const parsed = parseNetworkSelections(annotations[annotation] ?? "", defaultNamespace);
    if (!parsed.ok) {
      warnings.push(`annotation ${annotation} can't be read, no resources are requested for it: ${parsed.reason}`);
      return;
    }
    for (const network of parsed.networks) {
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
      warnings.push(`${missingSentence(network)} It was looked for in ${MULTUS_NAMESPACE}; name its namespace.`);
    } else missing.push(network);
  }
  return { attachments, missing, warnings: [...new Set(warnings)] };
}

function denied(where: string, missing: readonly AskedNetwork[]): AdmissionAnswer {
  const sentences = [...new Set(missing.map(missingSentence))];
  return {
    allowed: false,
    message: `${where}: ${sentences.join(" ")} The pod could only hang in ContainerCreating. Create it first, or correct the annotation.`,
  };
}

function missingSentence({ namespace, name, annotation }: AskedNetwork): string {
  return `NetworkAttachmentDefinition ${namespace}/${name}, named by annotation ${annotation}, does not exist.`;
}

function podName(request: AdmissionRequest): string {
  const { name, generateName } = request.object?.metadata ?? {};
  return `${request.namespace ?? "default"}/${name || `${generateName ?? ""}*`}`;
}
