import type { Registry } from "prom-client";
import { nadOf } from "../../api/claim-network.ts";
import type { ConflictScope } from "../../api/mac-pool.ts";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../../api/names.ts";
import { isNotFound } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { Semaphore } from "../../kube/client/semaphore.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Handler } from "../../kube/informer/informer.ts";
import { textAt } from "../../kube/json-path.ts";
import type { Log } from "../../kube/log.ts";
import { shortText } from "../../kube/short-text.ts";
import { domainOfConfig, joined } from "../claims/layer2-domain.ts";
import { KINDS } from "../objects/kinds.ts";
import { DemandedInformer } from "./demanded-informer.ts";

/** What of an owner tells which layer-2 domains it may be in. */
interface Placed {
  readonly namespace: string;
  readonly network?: string | undefined;
  readonly domains?: readonly string[] | undefined;
}

/** Undefined where an owner may be in any domain. */
export type DomainsOf = (owner: Placed) => readonly string[] | undefined;

/** Which layer-2 domains objects are in: where the pool of their namespace asks for that. */
export interface Networks {
  /** Of the pool that serves the namespace. */
  readonly scopeIn: (namespace: string) => ConflictScope;
  /** Where a network of an object in the namespace leads now; undefined where that is not known. Never rejects. */
  readonly domainOf: (
    network: string | undefined,
    namespace: string,
    signal?: AbortSignal,
  ) => Promise<string | undefined>;
  /**
   * Answers about these owners: the domains in their claim and the one where their network leads now. Where one of them is
   * not known, or their pool says Cluster, they may be in any.
   */
  readonly of: (owners: readonly Placed[], signal?: AbortSignal) => Promise<DomainsOf>;
}

export interface NetworkDomainsOptions {
  readonly client: KubeClient;
  readonly scopeIn: (namespace: string) => ConflictScope;
  readonly log: Log;
  readonly metrics: Registry;
  readonly clock?: Clock;
  readonly random?: () => number;
}

const READ_TIMEOUT_MS = 1_000;
/** Reads at once: reviews that make up networks must not take the calls of those that claim. */
const MAX_READS = 4;

/** Most configurations have hundreds of bytes. Of a longer one the domain is known, and nothing else. */
const MAX_CONFIG_CHARS = 16 * 1024;
/** A name of a node resource is shorter. */
const MAX_RESOURCE_CHARS = 320;

/** What is kept of a NetworkAttachmentDefinition. */
export type KnownNad = KubeObject & {
  readonly domain?: string | undefined;
  /** Undefined where it is too long. */
  readonly config?: string | undefined;
  /** What its annotation names. */
  readonly resource?: string | undefined;
};

/**
 * The domains of NetworkAttachmentDefinitions, from a watch that begins when a pool first says Network, or when
 * somebody first asks about networks. One that the cache does not have is read: it may be new. A cluster without them, or a
 * read that fails, makes networks unknown and nothing worse.
 */
export class NetworkDomains implements Networks {
  readonly scopeIn: Networks["scopeIn"];
  readonly #client: KubeClient;
  readonly #log: Log;
  readonly #nads: DemandedInformer<KnownNad>;
  readonly #reads = new Semaphore(MAX_READS);

  constructor({ scopeIn, ...options }: NetworkDomainsOptions) {
    this.scopeIn = scopeIn;
    this.#client = options.client;
    this.#log = options.log;
    this.#nads = new DemandedInformer<KnownNad>({
      ...options,
      resource: KINDS.networks,
      absentIsEmpty: true,
      transform: slim,
    });
  }

  /** A pool says Network, or somebody asks about networks. */
  need(): void {
    this.#nads.need();
  }

  /** Watches, once that is needed, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#nads.run(signal);
  }

  retryNow(relist: boolean): void {
    this.#nads.retryNow(relist);
  }

  /** Resolves when the first list is known. Rejects when the signal aborts. */
  whenSynced(signal: AbortSignal): Promise<void> {
    return this.#nads.whenSynced(signal);
  }

  get hasSynced(): boolean {
    return this.#nads.hasSynced;
  }

  on(handler: Handler<KnownNad>): () => void {
    return this.#nads.on(handler);
  }

  readonly domainOf: Networks["domainOf"] = async (network, namespace, signal) => {
    const nad = nadOf(network, namespace);
    if (nad === undefined) return undefined;
    const known = this.#nads.get(`${nad.namespace}/${nad.name}`);
    return known === undefined ? this.#read(nad, signal) : known.domain;
  };

  readonly of: Networks["of"] = async (owners, signal) => {
    const domains = new Map<string, Promise<string | undefined>>();
    for (const { network, namespace } of owners) {
      if (this.scopeIn(namespace) !== "Network") continue;
      const key = keyOf(network, namespace);
      if (!domains.has(key)) domains.set(key, this.domainOf(network, namespace, signal));
    }
    const now = new Map(await Promise.all([...domains].map(async ([key, domain]) => [key, await domain] as const)));
    return ({ network, namespace, domains: before }) => placed(before, now.get(keyOf(network, namespace)));
  };

  /** By the cache alone. */
  readonly cached: DomainsOf = ({ network, namespace, domains }) => {
    if (this.scopeIn(namespace) !== "Network") return undefined;
    const nad = nadOf(network, namespace);
    return placed(domains, nad && this.#nads.get(`${nad.namespace}/${nad.name}`)?.domain);
  };

  async #read(
    nad: { readonly namespace: string; readonly name: string },
    signal?: AbortSignal,
  ): Promise<string | undefined> {
    let leave = (): void => {};
    try {
      leave = await this.#reads.acquire(signal);
      const found = await this.#client.get(KINDS.networks, nad, {
        timeoutMs: READ_TIMEOUT_MS,
        ...(signal && { signal }),
      });
      return domainIn(found);
    } catch (error) {
      if (!isNotFound(error)) this.#log.warn({ err: error, ...nad }, "could not read a NetworkAttachmentDefinition");
      return undefined;
    } finally {
      leave();
    }
  }
}

function placed(before: readonly string[] | undefined, now: string | undefined): readonly string[] | undefined {
  return now === undefined ? undefined : joined(before ?? [], [now]);
}

const keyOf = (network: string | undefined, namespace: string): string => `${namespace} ${network ?? ""}`;

/** Configurations can have a megabyte. */
function slim(nad: KubeObject): KnownNad {
  const { name, namespace, uid, resourceVersion } = nad.metadata;
  const config = textAt(nad, "spec", "config");
  const resource = textAt(nad, "metadata", "annotations", NAD_RESOURCE_NAME_ANNOTATION);
  return {
    metadata: { name, namespace, uid, resourceVersion },
    domain: domainIn(nad),
    config: config.length > MAX_CONFIG_CHARS ? undefined : config,
    ...(resource === "" ? {} : { resource: shortText(resource, MAX_RESOURCE_CHARS) }),
  };
}

function domainIn(nad: KubeObject): string | undefined {
  const { name = "", namespace = "" } = nad.metadata;
  return domainOfConfig({ name, namespace }, textAt(nad, "spec", "config"));
}
