import { NETWORK_ATTACHMENT_DEFINITIONS } from "../api/kinds.ts";
import { NAD_GROUP } from "../api/names.ts";
import { type Finding, finding } from "../nad-lint/finding.ts";
import { type ClusterFacts, lintNetwork } from "../nad-lint/lint.ts";
import { segmentOfConfig } from "../nad-lint/segment.ts";
import type { Manifest } from "./manifests.ts";

/** The NetworkAttachmentDefinitions among manifests, and what the lint finds in them. */

export interface Network {
  readonly namespace: string;
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Undefined where it is not a text. */
  readonly config: string | undefined;
}

interface Nad {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly metadata?: { readonly name?: unknown; readonly namespace?: unknown; readonly annotations?: unknown } | null;
  readonly spec?: { readonly config?: unknown } | null;
}

/** Undefined for an object of another kind. */
export function networkIn({ object }: Pick<Manifest, "object">, defaultNamespace: string): Network | undefined {
  const { apiVersion, kind, metadata, spec } = (object ?? {}) as Nad;
  if (kind !== NETWORK_ATTACHMENT_DEFINITIONS.kind || !String(apiVersion).startsWith(`${NAD_GROUP}/`)) return undefined;
  const config = spec?.config ?? "";
  const annotations = Object.entries(metadata?.annotations ?? {}).filter(([, value]) => typeof value === "string");
  return {
    namespace: textOf(metadata?.namespace) || defaultNamespace,
    name: textOf(metadata?.name),
    annotations: Object.fromEntries(annotations),
    config: typeof config === "string" ? config : undefined,
  };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** The findings of each, also about the others; `among`: those that it is compared with. */
export function lintNetworks(
  networks: readonly Network[],
  cluster: ClusterFacts = {},
  among = networks,
): readonly (readonly Finding[])[] {
  return networks.map(({ namespace, name, annotations, config }) => {
    const sameSegment = (segment: string): string | undefined => {
      const others = among.filter((one) => one.name !== name && segmentIn(one) === segment);
      const other = others.find((one) => one.namespace === namespace) ?? others[0];
      return other && `network ${other.namespace}/${other.name}`;
    };
    return config === undefined ? [notText()] : lintNetwork({ name, annotations, config }, { ...cluster, sameSegment });
  });
}

/** Tenants choose how long it takes to read one. */
const segments = new WeakMap<Network, { readonly text: string | undefined }>();

function segmentIn(network: Network): string | undefined {
  const { config = "", name } = network;
  const read = segments.get(network) ?? { text: segmentOfConfig(config, name) };
  segments.set(network, read);
  return read.text;
}

/** What is said of one that a VM or a pod names. */
export function missingNetwork(name: string): { readonly text: string; readonly remedy: string } {
  return {
    text: `NetworkAttachmentDefinition ${name} does not exist: pods do not start`,
    remedy: "Create it, or name one that exists as NAMESPACE/NAME.",
  };
}

function notText(): Finding {
  return finding(
    "config-unreadable",
    "spec.config is not a text: the API server refuses it. Write the JSON between quotes: config: '{...}'.",
  );
}
