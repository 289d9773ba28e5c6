/**
 * What is in the cluster of everything the operator applies, by watch. Every change of it wakes the reconciler, which is
 * how drift is repaired at once and how an idle operator does nothing.
 */

import { NETWORK_ADDONS_CONFIGS } from "../../api/kinds.ts";
import { LABEL_MANAGED_BY, MANAGED_BY, NETWORK_ADDONS_CONFIG_NAME } from "../../api/names.ts";
import type { NetworkAddonsConfig } from "../../api/network-addons-config.ts";
import type { Node, Pod } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { apiVersionOf, type KubeObject, RESOURCES, type Resource } from "../../kube/client/resource.ts";
import { Informer } from "../../kube/informer/informer.ts";
import type { Log } from "../../kube/log.ts";
import type { OperatorSettings } from "../settings.ts";
import { isReady } from "../status/rollout.ts";
import { APPLIED_KINDS } from "./applied-kinds.ts";
import { identityKey, keyOf, type ObjectIdentity } from "./inventory.ts";

export interface ClusterViewOptions {
  readonly client: KubeClient;
  readonly settings: OperatorSettings;
  /** Every object that can be rendered: tells the names of those that are watched one by one. */
  readonly everything: readonly KubeObject[];
  readonly log: Log;
}

const OURS = `${LABEL_MANAGED_BY}=${MANAGED_BY}`;
const CONFIGS: Resource<NetworkAddonsConfig> = NETWORK_ADDONS_CONFIGS;

export class ClusterView {
  readonly #configs: Informer<NetworkAddonsConfig>;
  readonly #nodes: Informer<Node>;
  readonly #pods: Informer<Pod>;
  /** By apiVersion and kind. */
  readonly #applied = new Map<string, Informer<KubeObject>[]>();
  readonly #all: Informer<KubeObject>[] = [];
  /** Answers to our own writes, until the watch has caught up with them. */
  readonly #written = new Map<string, KubeObject>();
  #writtenConfig: NetworkAddonsConfig | undefined;
  readonly #listeners = new Set<() => void>();

  constructor({ client, settings, everything, log }: ClusterViewOptions) {
    const namespace = settings.operandNamespace;
    this.#configs = new Informer({
      client,
      resource: CONFIGS,
      fieldSelector: `metadata.name=${NETWORK_ADDONS_CONFIG_NAME}`,
      absentIsEmpty: true,
      log,
    });
    this.#nodes = new Informer({ client, resource: RESOURCES.nodes, transform: slimNode, log });
    this.#pods = new Informer({ client, resource: RESOURCES.pods, namespace, labelSelector: OURS, log });
    this.#configs.on(this.#waking());
    this.#pods.on(this.#waking());
    this.#nodes.on({
      add: () => this.#wake(),
      update: (node, old) => {
        if (isReady(node) !== isReady(old)) this.#wake();
      },
      delete: () => this.#wake(),
    });
    for (const { resource, watchedByName } of APPLIED_KINDS) {
      const scope = resource.namespaced ? { namespace } : {};
      const names = everything.flatMap(({ kind, metadata }) => (kind === resource.kind ? (metadata.name ?? []) : []));
      const selectors = watchedByName
        ? names.map((name) => ({ fieldSelector: `metadata.name=${name}` }))
        : [{ labelSelector: OURS }];
      for (const selector of selectors) {
        this.#watch(new Informer({ client, resource, ...scope, ...selector, absentIsEmpty: true, log }), resource);
      }
    }
    if (settings.operatorNamespace !== namespace) {
      const resource: Resource<KubeObject> = RESOURCES.configMaps;
      const records = { client, resource, namespace: settings.operatorNamespace, labelSelector: OURS, log };
      this.#watch(new Informer(records), resource);
    }
  }

  start(signal: AbortSignal): void {
    for (const informer of this.#informers()) informer.start(signal);
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#informers().map((informer) => informer.whenSynced(signal)));
  }

  get hasSynced(): boolean {
    return this.#informers().every((informer) => informer.hasSynced);
  }

  /** Calls the listener on every change that may concern the operator. Returns how to stop that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The newest that the watch or the answer to our own last write has shown. */
  config(): NetworkAddonsConfig | undefined {
    const watched = this.#configs.get(NETWORK_ADDONS_CONFIG_NAME);
    const written = this.#writtenConfig;
    if (watched === undefined || written === undefined) return watched;
    return revision(watched) >= revision(written) ? watched : written;
  }

  rememberConfig(config: NetworkAddonsConfig): void {
    this.#writtenConfig = config;
  }

  nodes(): readonly Node[] {
    return this.#nodes.list();
  }

  pods(): readonly Pod[] {
    return this.#pods.list();
  }

  /** The object as it is now, as far as the watch or our own last write tell; the newer of the two. */
  live(identity: ObjectIdentity): KubeObject | undefined {
    const key = identityKey(identity);
    const watched = this.#watched(identity);
    const written = this.#written.get(key);
    if (written === undefined) return watched;
    if (watched !== undefined && revision(watched) >= revision(written)) {
      this.#written.delete(key);
      return watched;
    }
    return written;
  }

  /** What the API server answered to a write of ours. */
  remember(object: KubeObject): void {
    this.#written.set(keyOf(object), object);
  }

  forget(identity: ObjectIdentity): void {
    this.#written.delete(identityKey(identity));
  }

  #watched(identity: ObjectIdentity): KubeObject | undefined {
    const { apiVersion, kind, namespace, name = "" } = identity;
    const informers = this.#applied.get(`${apiVersion} ${kind}`) ?? [];
    for (const informer of informers) {
      const found = informer.get(namespace === undefined ? name : `${namespace}/${name}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #watch(informer: Informer<KubeObject>, resource: Resource): void {
    const kind = `${apiVersionOf(resource)} ${resource.kind}`;
    this.#applied.set(kind, [...(this.#applied.get(kind) ?? []), informer]);
    this.#all.push(informer);
    informer.on({
      ...this.#waking(),
      delete: (object) => {
        this.#written.delete(keyOf(object));
        this.#wake();
      },
    });
  }

  #waking(): { add: () => void; update: () => void; delete: () => void } {
    const wake = () => this.#wake();
    return { add: wake, update: wake, delete: wake };
  }

  #wake(): void {
    for (const listener of this.#listeners) listener();
  }

  #informers(): readonly Pick<Informer<KubeObject>, "start" | "whenSynced" | "hasSynced">[] {
    return [this.#configs, this.#nodes, this.#pods, ...this.#all];
  }
}

/** Nodes are large and many; two facts of each are enough here. */
function slimNode(node: Node): Node {
  const { name, uid, resourceVersion } = node.metadata;
  const conditions = node.status?.conditions?.filter(({ type }) => type === "Ready") ?? [];
  return {
    ...(node.apiVersion === undefined ? {} : { apiVersion: node.apiVersion }),
    ...(node.kind === undefined ? {} : { kind: node.kind }),
    metadata: { name, uid, resourceVersion },
    ...(node.spec?.unschedulable === true ? { spec: { unschedulable: true } } : {}),
    status: { conditions },
  };
}

/** etcd revisions: opaque to users by contract, decimal and growing in every API server there is. */
function revision(object: KubeObject): number {
  return Number(object.metadata.resourceVersion ?? 0);
}
