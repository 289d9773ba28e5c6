/**
 * The objects of the cluster that the operator applies, by watch. A change wakes the reconciler: drift is repaired at once,
 * and an idle operator does nothing.
 */

import type { Registry } from "prom-client";
import { NETWORK_ADDONS_CONFIGS } from "../../api/kinds.ts";
import { LABEL_MANAGED_BY, MANAGED_BY, NETWORK_ADDONS_CONFIG_NAME } from "../../api/names.ts";
import type { NetworkAddonsConfig } from "../../api/network-addons-config.ts";
import type { CustomResourceDefinition, EndpointSlice, Node, Pod } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { apiVersionOf, type KubeObject, RESOURCES, type Resource } from "../../kube/client/resource.ts";
import { Informer } from "../../kube/informer/informer.ts";
import type { Log } from "../../kube/log.ts";
import type { Facts } from "../facts.ts";
import { CONSTRAINTS_DEFINITION } from "../manifests/security-context-constraints.ts";
import { NETWORKS_DEFINITION, type PlatformFacts } from "../platform.ts";
import type { OperatorSettings } from "../settings.ts";
import { isReady } from "../status/pod-trouble.ts";
import { APPLIED_KINDS, reportsProgress } from "./applied-kinds.ts";
import { isEstablished } from "./established.ts";
import { identityKey, keyOf, type ObjectIdentity } from "./inventory.ts";
import { PlatformView } from "./platform-view.ts";
import { selectorLabels, slimDefinition, slimNode, slimPod } from "./slim.ts";
import { onlyStatusChanged, type Urgency } from "./urgency.ts";

export interface ClusterViewOptions {
  readonly client: KubeClient;
  readonly settings: OperatorSettings;
  /** Every object that can be rendered. Gives the names of those that are watched by name. */
  readonly everything: readonly KubeObject[];
  /** Names of the CRDs of other products that components need. */
  readonly prerequisites: readonly string[];
  readonly log: Log;
  readonly metrics: Registry;
}

/** A kind that is not served is asked for ever less often. The end of that is a change of its definition. */
const MAX_ABSENT_RETRY_MS = 30_000;

const OURS = `${LABEL_MANAGED_BY}=${MANAGED_BY}`;
/** API servers keep it themselves, in the namespace `default`. */
export const API_SERVER_SLICE = "kubernetes";
const API_SERVER_NAMESPACE = "default";
/** The same for a kind that is applied as soon as it is served, and whose definition is not watched. */
const MAX_OPTIONAL_RETRY_MS = 5_000;
const CONFIGS: Resource<NetworkAddonsConfig> = NETWORK_ADDONS_CONFIGS;

export class ClusterView {
  readonly platform: PlatformView;
  readonly #configs: Informer<NetworkAddonsConfig>;
  readonly #nodes: Informer<Node>;
  readonly #pods: Informer<Pod>;
  readonly #prerequisites: readonly Informer<CustomResourceDefinition>[];
  readonly #apiServers: Informer<EndpointSlice>;
  /** By apiVersion and kind. */
  readonly #applied = new Map<string, Informer<KubeObject>[]>();
  readonly #all: Informer<KubeObject>[] = [];
  /** Answers to our own writes, until the watch catches up. */
  readonly #written = new Map<string, KubeObject>();
  #writtenConfig: NetworkAddonsConfig | undefined;
  readonly #listeners = new Set<(urgency: Urgency) => void>();

  constructor({ client, settings, everything, prerequisites, log, metrics }: ClusterViewOptions) {
    const namespace = settings.operandNamespace;
    const reporting = { client, log, metrics };
    this.#configs = new Informer({
      ...reporting,
      resource: CONFIGS,
      fieldSelector: `metadata.name=${NETWORK_ADDONS_CONFIG_NAME}`,
      absentIsEmpty: true,
    });
    this.#nodes = new Informer({ ...reporting, resource: RESOURCES.nodes, transform: slimNode });
    const labels = selectorLabels(everything);
    this.#pods = new Informer({
      ...reporting,
      resource: RESOURCES.pods,
      namespace,
      labelSelector: OURS,
      transform: (pod) => slimPod(pod, labels),
    });
    this.#configs.on({
      add: () => this.#wake("now"),
      update: (config, old) => this.#wake(onlyStatusChanged(config, old) ? "soon" : "now"),
      delete: () => this.#wake("now"),
      listed: () => {
        if (this.#writtenConfig !== undefined) this.#wake("now");
        this.#writtenConfig = undefined;
      },
    });
    const soon = () => this.#wake("soon");
    this.#pods.on({ add: soon, update: soon, delete: soon });
    this.#nodes.on({
      add: soon,
      update: (node, old) => {
        if (isReady(node) !== isReady(old)) soon();
      },
      delete: soon,
    });
    const now = () => this.#wake("now");
    this.#prerequisites = prerequisites.map((name) => {
      const one = { resource: RESOURCES.crds, fieldSelector: `metadata.name=${name}`, transform: slimDefinition };
      const informer = new Informer({ ...reporting, ...one });
      const changed = (definition: CustomResourceDefinition): void => {
        this.#expect(definition);
        this.platform.follow(this.#definitions().has(NETWORKS_DEFINITION));
        now();
      };
      informer.on({ add: changed, update: changed, delete: changed });
      return informer;
    });
    this.#apiServers = new Informer({
      ...reporting,
      resource: RESOURCES.endpointSlices,
      namespace: API_SERVER_NAMESPACE,
      fieldSelector: `metadata.name=${API_SERVER_SLICE}`,
    });
    this.#apiServers.on({ add: now, update: now, delete: now });
    this.platform = new PlatformView({ ...reporting, namespace, onChange: now });
    for (const { resource, watchedByName, mayBeAbsent, optional } of APPLIED_KINDS) {
      const scope = { ...(resource.namespaced && { namespace }), ...(optional && { onServed: now }) };
      const names = everything.flatMap(({ kind, metadata }) => (kind === resource.kind ? (metadata.name ?? []) : []));
      const selectors = watchedByName
        ? names.map((name) => ({ name, selector: { fieldSelector: `metadata.name=${name}` } }))
        : [{ name: undefined, selector: { labelSelector: OURS } }];
      for (const { name, selector } of selectors) {
        const maxAbsentRetryMs = optional ? MAX_OPTIONAL_RETRY_MS : MAX_ABSENT_RETRY_MS;
        const rules = mayBeAbsent ? { maxAbsentRetryMs } : {};
        const options = { ...reporting, resource, ...scope, ...selector, absentIsEmpty: true, rules };
        this.#watch(new Informer(options), resource, name);
      }
    }
    if (settings.operatorNamespace !== namespace) {
      const resource: Resource<KubeObject> = RESOURCES.configMaps;
      const records = { resource, namespace: settings.operatorNamespace, labelSelector: OURS };
      this.#watch(new Informer({ ...reporting, ...records }), resource);
    }
  }

  start(signal: AbortSignal): void {
    this.platform.start(signal);
    for (const informer of this.#informers()) informer.start(signal);
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#informers().map((informer) => informer.whenSynced(signal)));
  }

  get hasSynced(): boolean {
    return this.#informers().every((informer) => informer.hasSynced);
  }

  /** Lists everything anew: etcd may be older than what was seen. */
  relist(): void {
    for (const informer of [...this.#informers(), this.platform]) informer.relist();
  }

  /** Calls the listener on every change that may concern the operator. Returns the function that ends this. */
  onChange(listener: (urgency: Urgency) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The newer one of the watch and the answer to our last write. */
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

  /** All but what only the platform itself says. */
  facts(): Omit<Facts, keyof PlatformFacts> {
    const definitions = this.#definitions();
    const optional = APPLIED_KINDS.filter((kind) => kind.optional).flatMap(({ resource }) => this.#of(resource));
    const slice = this.#apiServers.get(`${API_SERVER_NAMESPACE}/${API_SERVER_SLICE}`);
    const ports = (slice?.ports ?? []).flatMap(({ port }) => port ?? []);
    return {
      nodeCount: this.#nodes.list().length,
      definitions,
      securityContextConstraints: definitions.has(CONSTRAINTS_DEFINITION),
      prometheusOperator: optional.every((informer) => informer.isServed),
      apiServerPorts: [...new Set(ports)].sort((a, b) => a - b),
    };
  }

  /** The newer one of the watched object and the answer to our last write. */
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

  /** Takes the API server's answer to one of our writes. */
  remember(object: KubeObject): void {
    this.#written.set(keyOf(object), object);
  }

  forget(identity: ObjectIdentity): void {
    this.#written.delete(identityKey(identity));
  }

  /** Names of the prerequisites that the API server serves and goes on to serve. */
  #definitions(): ReadonlySet<string> {
    const defined = this.#prerequisites.flatMap((informer) => informer.list());
    const served = defined.filter((one) => one.metadata.deletionTimestamp === undefined && isEstablished(one));
    return new Set(served.map(({ metadata }) => metadata.name ?? ""));
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

  #of(resource: Resource): readonly Informer<KubeObject>[] {
    return this.#applied.get(`${apiVersionOf(resource)} ${resource.kind}`) ?? [];
  }

  /** `name`: of the only object that is watched. */
  #watch(informer: Informer<KubeObject>, resource: Resource, name?: string): void {
    const kind = `${apiVersionOf(resource)} ${resource.kind}`;
    this.#applied.set(kind, [...(this.#applied.get(kind) ?? []), informer]);
    this.#all.push(informer);
    const isDefinition = resource.kind === RESOURCES.crds.kind;
    informer.on({
      add: (object) => {
        if (isDefinition) this.#expect(object as CustomResourceDefinition);
        this.#wake("now");
      },
      update: (object, old) => {
        if (isDefinition) this.#expect(object as CustomResourceDefinition);
        if (!onlyStatusChanged(object, old)) this.#wake("now");
        else if (reportsProgress(resource)) this.#wake("soon");
      },
      delete: (object) => {
        this.#written.delete(keyOf(object));
        this.#wake("now");
      },
      listed: () => this.#forgetWritten(kind, name),
    });
  }

  /** A list has what was written before, unless it is gone. No watch tells that of an object that it never had. */
  #forgetWritten(kind: string, name: string | undefined): void {
    for (const [key, { metadata }] of this.#written) {
      if (!key.startsWith(`${kind} `) || (name !== undefined && metadata.name !== name)) continue;
      this.#written.delete(key);
      this.#wake("now");
    }
  }

  /** The kind of an established definition is looked for at once. */
  #expect(definition: CustomResourceDefinition): void {
    if (!isEstablished(definition)) return;
    for (const informer of this.#all) {
      const { plural, group } = informer.resource;
      if (`${plural}.${group}` === definition.metadata.name) informer.lookNow();
    }
  }

  #wake(urgency: Urgency): void {
    for (const listener of this.#listeners) listener(urgency);
  }

  #informers(): readonly Pick<Informer<KubeObject>, "start" | "whenSynced" | "hasSynced" | "relist">[] {
    return [this.#configs, this.#nodes, this.#pods, this.#apiServers, ...this.#prerequisites, ...this.#all];
  }
}

/** etcd revisions: opaque by contract, but decimal and growing in every API server. */
function revision(object: KubeObject): number {
  return Number(object.metadata.resourceVersion ?? 0);
}
