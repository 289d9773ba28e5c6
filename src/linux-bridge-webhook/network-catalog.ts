import type { Registry } from "prom-client";
import { NETWORK_ATTACHMENT_DEFINITIONS } from "../api/kinds.ts";
import { NAD_NODE_SELECTOR_ANNOTATION, NAD_RESOURCE_NAME_ANNOTATION } from "../api/names.ts";
import { isNotFound } from "../kube/client/api-error.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { KubeObject } from "../kube/client/resource.ts";
import { Informer } from "../kube/informer/informer.ts";
import type { Log } from "../kube/log.ts";

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

/** Looks up networks. Rejects if neither the cache nor the API server answers. */
export interface NetworkLookups {
  find(network: NetworkRef, signal: AbortSignal): Promise<NetworkLookup>;
}

/** All NetworkAttachmentDefinitions from a watch, and a live read for one that is not in the cache. */
export class NetworkCatalog implements NetworkLookups {
  readonly #client: KubeClient;
  readonly #informer: Informer<KubeObject>;

  constructor(options: { readonly client: KubeClient; readonly log: Log; readonly metrics: Registry }) {
    const { client, log, metrics } = options;
    this.#client = client;
    this.#informer = new Informer<KubeObject>({
      client,
      resource: NETWORK_ATTACHMENT_DEFINITIONS,
      absentIsEmpty: true,
      transform: annotationsOnly,
      log,
      metrics,
    });
  }

  get synced(): boolean {
    return this.#informer.hasSynced;
  }

  /** Watches until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#informer.run(signal);
  }

  async find(network: NetworkRef, signal: AbortSignal): Promise<NetworkLookup> {
    const known = this.#informer.get(`${network.namespace}/${network.name}`);
    if (known !== undefined) return { kind: "found", annotations: known.metadata.annotations ?? {} };
    try {
      const { namespace, name } = network;
      const { metadata } = await this.#client.get(NETWORK_ATTACHMENT_DEFINITIONS, { namespace, name }, { signal });
      return { kind: "found", annotations: metadata.annotations ?? {} };
    } catch (error) {
      if (!isNotFound(error)) throw error;
      // Without the CRD the answer is 404 too, but it names no object.
      return { kind: error.details?.name === undefined ? "unsupported" : "missing" };
    }
  }
}

const READ_ANNOTATIONS = [NAD_RESOURCE_NAME_ANNOTATION, NAD_NODE_SELECTOR_ANNOTATION] as const;

/** Configurations can have kilobytes. Only two annotations matter here. */
function annotationsOnly(nad: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion } = nad.metadata;
  const annotations: Record<string, string> = {};
  for (const key of READ_ANNOTATIONS) {
    const value = nad.metadata.annotations?.[key];
    if (value !== undefined) annotations[key] = value;
  }
  return { metadata: { name, namespace, uid, resourceVersion, annotations } };
}
