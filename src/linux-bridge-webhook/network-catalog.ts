import type { Registry } from "prom-client";
import { NETWORK_ATTACHMENT_DEFINITIONS } from "../api/kinds.ts";
import { isNamespaceName, isObjectName } from "../api/legal-names.ts";
import { NAD_NODE_SELECTOR_ANNOTATION, NAD_RESOURCE_NAME_ANNOTATION } from "../api/names.ts";
import { isNotFound } from "../kube/client/api-error.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { KubeObject } from "../kube/client/resource.ts";
import { Informer } from "../kube/informer/informer.ts";
import { textAt } from "../kube/json-path.ts";
import type { Log } from "../kube/log.ts";
import { shortText } from "../kube/short-text.ts";
import { segmentOfConfig } from "../nad-lint/segment.ts";
import { FairLimiter, type FairLimits } from "./fair-limiter.ts";

/** Names one NetworkAttachmentDefinition. */
export interface NetworkRef {
  readonly namespace: string;
  readonly name: string;
}

/** What is known about one NetworkAttachmentDefinition. */
export type NetworkLookup =
  | { readonly kind: "found"; readonly annotations: Readonly<Record<string, string>> }
  | { readonly kind: "missing" }
  /** The cluster does not know NetworkAttachmentDefinitions at all. */
  | { readonly kind: "unsupported" };

/** Looks up networks. */
export interface NetworkLookups {
  /** What the cache has; undefined where the API server has to be asked. */
  cached(network: NetworkRef): NetworkLookup | undefined;
  /** Asks the API server on behalf of a pod in the namespace `podNamespace`. Rejects if it does not answer. */
  find(network: NetworkRef, podNamespace: string, signal: AbortSignal): Promise<NetworkLookup>;
}

/** Limits each namespace so that pods which name missing networks do not delay the reads for other namespaces. */
const LIVE_READS: FairLimits = { total: 16, perNamespace: 4 };

/** What is kept of a NetworkAttachmentDefinition. */
type SlimNad = KubeObject & { readonly segment?: string | undefined };

export interface NetworkCatalogOptions {
  readonly client: KubeClient;
  readonly log: Log;
  readonly metrics: Registry;
  /** Whether `sameSegment` is asked. */
  readonly segments?: boolean;
}

/** All NetworkAttachmentDefinitions from a watch, and a live read for one that is not in the cache. */
export class NetworkCatalog implements NetworkLookups {
  readonly #client: KubeClient;
  readonly #informer: Informer<SlimNad>;
  readonly #liveReads = new FairLimiter(LIVE_READS);

  constructor({ segments = false, ...options }: NetworkCatalogOptions) {
    this.#client = options.client;
    this.#informer = new Informer<SlimNad>({
      ...options,
      resource: NETWORK_ATTACHMENT_DEFINITIONS,
      absentIsEmpty: true,
      transform: (nad) => (segments ? { ...annotationsOnly(nad), segment: segmentIn(nad) } : annotationsOnly(nad)),
      indexers: {
        segment: ({ segment }) => (segment === undefined ? [] : [segment]),
      },
    });
  }

  get synced(): boolean {
    return this.#informer.hasSynced;
  }

  /** Watches until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#informer.run(signal);
  }

  cached({ namespace, name }: NetworkRef): NetworkLookup | undefined {
    const found = this.#informer.get(`${namespace}/${name}`);
    if (found !== undefined) return { kind: "found", annotations: found.metadata.annotations ?? {} };
    return isNamespaceName(namespace) && isObjectName(name) ? undefined : { kind: "missing" };
  }

  /**
   * Another network that leads to the same bridge and VLAN, as users of the namespace may read of it. One of the same name in
   * another namespace is the same network there: multus may isolate namespaces.
   */
  sameSegment(segment: string, namespace: string, name: string): string | undefined {
    const others = this.#informer.byIndex("segment", segment).filter(({ metadata }) => metadata.name !== name);
    const own = others.find(({ metadata }) => metadata.namespace === namespace);
    if (own !== undefined) return `network ${namespace}/${own.metadata.name}`;
    return others.length > 0 ? "a network of another namespace" : undefined;
  }

  async find(network: NetworkRef, podNamespace: string, signal: AbortSignal): Promise<NetworkLookup> {
    return this.cached(network) ?? this.#liveReads.run(podNamespace, signal, () => this.#read(network, signal));
  }

  async #read({ namespace, name }: NetworkRef, signal: AbortSignal): Promise<NetworkLookup> {
    try {
      const { metadata } = await this.#client.get(NETWORK_ATTACHMENT_DEFINITIONS, { namespace, name }, { signal });
      return { kind: "found", annotations: metadata.annotations ?? {} };
    } catch (error) {
      if (!isNotFound(error)) throw error;
      // Without the CRD the answer is 404 too, but it names no object.
      return { kind: error.details?.name === undefined ? "unsupported" : "missing" };
    }
  }
}

/** Whatever it is, a network must not end the watch. */
function segmentIn(nad: KubeObject): string | undefined {
  try {
    return segmentOfConfig(textAt(nad, "spec", "config"), nad.metadata.name ?? "");
  } catch {
    return undefined;
  }
}

const READ_ANNOTATIONS = [NAD_RESOURCE_NAME_ANNOTATION, NAD_NODE_SELECTOR_ANNOTATION] as const;

/** A label with its value is shorter. What is cut is no label, and its warning quotes less. */
const MAX_ANNOTATION_CHARS = 512;

/** Configurations can have kilobytes. Only two annotations matter here, and each may have a quarter of a megabyte. */
function annotationsOnly(nad: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion } = nad.metadata;
  const annotations: Record<string, string> = {};
  for (const key of READ_ANNOTATIONS) {
    const value = nad.metadata.annotations?.[key];
    if (value !== undefined) annotations[key] = shortText(value.trim(), MAX_ANNOTATION_CHARS);
  }
  return { metadata: { name, namespace, uid, resourceVersion, annotations } };
}
