/**
 * The objects of the cluster that the operator applies, by watch. A change wakes the reconciler: drift is repaired at once,
 * and an idle operator does nothing.
 */

import type { Registry } from "prom-client";
import { NETWORK_ADDONS_CONFIGS } from "../../api/kinds.ts";
import { LABEL_MANAGED_BY, MANAGED_BY, NETWORK_ADDONS_CONFIG_NAME } from "../../api/names.ts";
import type { NetworkAddonsConfig } from "../../api/network-addons-config.ts";
import type { CustomResourceDefinition, Node, Pod } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { apiVersionOf, type KubeObject, RESOURCES, type Resource } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import { Informer } from "../../kube/informer/informer.ts";
import type { Log } from "../../kube/log.ts";
import { APPLIED_KINDS, isEstablished, watchRules } from "../apply/applied-kinds.ts";
import type { ObjectIdentity } from "../apply/inventory.ts";
import { LastWrites } from "../apply/last-writes.ts";
import type { OperatorSettings } from "../config/settings.ts";
import { CONSTRAINTS_DEFINITION } from "../manifests/security-context-constraints.ts";
import type { Facts } from "./facts.ts";
import type { NodeLayouts } from "./node-layout.ts";
import { NodeView } from "./node-view.ts";
import { NOT_LISTABLE_WAIT_MS, notListableText, type WatchingInformer } from "./not-listable.ts";
import { type PlatformFacts, PlatformView } from "./platform.ts";
import { selectorLabels, slimPod } from "./slim.ts";
import { onlyStatusChanged, type Urgency } from "./urgency.ts";

export interface ClusterViewOptions {
  readonly client: KubeClient;
  readonly settings: OperatorSettings;
  /** Every object that can be rendered. Gives the names of those that are watched by name. */
  readonly everything: readonly KubeObject[];
  /** Names of the CRDs of other products that components need. */
  readonly prerequisites: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Registry;
}

const OURS = `${LABEL_MANAGED_BY}=${MANAGED_BY}`;
const CONFIGS: Resource<KubeObject> = NETWORK_ADDONS_CONFIGS;
const CONFIG = { apiVersion: apiVersionOf(CONFIGS), kind: CONFIGS.kind, name: NETWORK_ADDONS_CONFIG_NAME };
/** Their status says how far a rollout is. */
const REPORT_PROGRESS = [RESOURCES.deployments.kind, RESOURCES.daemonSets.kind, CONFIGS.kind];

export class ClusterView {
  readonly platform: PlatformView;
  readonly #nodes: NodeView;
  readonly #pods: Informer<Pod>;
  /** By apiVersion and kind. */
  readonly #applied = new Map<string, Informer<KubeObject>[]>();
  readonly #all: Informer<KubeObject>[] = [];
  /** Not listed, and everything else goes on without: what other products serve, and pods. */
  readonly #notListable = new Set<WatchingInformer>();
  readonly #clock: Clock;
  readonly #lastWrites = new LastWrites();
  readonly #listeners = new Set<(urgency: Urgency) => void>();

  constructor({ client, settings, everything, prerequisites, clock, log, metrics }: ClusterViewOptions) {
    this.#clock = clock;
    const namespace = settings.operandNamespace;
    const reporting = { client, log, metrics };
    const configs = { ...reporting, resource: CONFIGS, fieldSelector: `metadata.name=${NETWORK_ADDONS_CONFIG_NAME}` };
    this.#watch(new Informer({ ...configs, absentIsEmpty: true }), CONFIGS, NETWORK_ADDONS_CONFIG_NAME);
    const labels = selectorLabels(everything);
    this.#pods = new Informer({
      ...reporting,
      resource: RESOURCES.pods,
      namespace,
      labelSelector: OURS,
      transform: (pod) => slimPod(pod, labels),
    });
    const soon = () => this.#wake("soon");
    this.#nodes = new NodeView({ ...reporting, onChange: soon });
    this.#notListable.add(this.#pods);
    const onRelist = () => this.#notListable.delete(this.#pods) && soon();
    this.#pods.on({ add: soon, update: soon, delete: soon, onRelist });
    const now = () => this.#wake("now");
    const onServed = (definition: CustomResourceDefinition) => this.#expect(definition);
    this.platform = new PlatformView({ ...reporting, namespace, prerequisites, onChange: now, onServed });
    for (const applied of APPLIED_KINDS) {
      const { resource, watchedByName, optional, external } = applied;
      const scope = { ...(resource.namespaced && { namespace }), ...(optional && { onServed: now }) };
      const named = everything.flatMap(({ kind, metadata }) => (kind === resource.kind ? (metadata.name ?? []) : []));
      const selectors = watchedByName
        ? [...new Set(named)].map((name) => ({ name, selector: { fieldSelector: `metadata.name=${name}` } }))
        : [{ name: undefined, selector: { labelSelector: OURS } }];
      for (const { name, selector } of selectors) {
        const rules = watchRules(applied);
        const onRefused = () => external && this.#setAside(informer);
        const options = { ...reporting, resource, ...scope, ...selector, absentIsEmpty: true, rules, onRefused };
        const informer: Informer<KubeObject> = new Informer(options);
        if (external) this.#notListable.add(informer);
        this.#watch(informer, resource, name);
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
    this.#nodes.start(signal);
    for (const informer of [this.#pods, ...this.#all]) informer.start(signal);
  }

  /** Waits a short time only for what `notListable` can report. */
  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#needed().map((informer) => informer.whenSynced(signal)));
    const all = Promise.all(this.#informers().map((informer) => informer.whenSynced(signal)));
    await Promise.race([all, this.#clock.sleep(NOT_LISTABLE_WAIT_MS, signal)]);
  }

  get hasSynced(): boolean {
    return this.#needed().every((informer) => informer.hasSynced);
  }

  /** Ends the waits for the API server's next answer. `relist`: and lists everything anew. */
  retryNow(relist: boolean): void {
    for (const informer of [...this.#own(), this.platform]) informer.retryNow(relist);
  }

  /** Calls the listener on every change that may concern the operator. Returns the function that ends this. */
  onChange(listener: (urgency: Urgency) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What was written while it was deleted is no configuration any more. */
  config(): NetworkAddonsConfig | undefined {
    return this.#watched(CONFIG) && (this.live(CONFIG) as NetworkAddonsConfig);
  }

  nodes(): readonly Node[] {
    return this.#nodes.list();
  }

  /** Resolves when the nodes have the labels with these keys. */
  async keepNodeLabels(keys: readonly string[], signal: AbortSignal): Promise<void> {
    await this.#nodes.keepLabels(keys, signal);
  }

  pods(): readonly Pod[] {
    return this.#pods.list();
  }

  /** All but what only the platform and the nodes say of themselves. */
  facts(): Omit<Facts, keyof PlatformFacts | keyof NodeLayouts> {
    const definitions = this.platform.served();
    const optional = APPLIED_KINDS.filter((kind) => kind.optional).flatMap(({ resource }) => this.#of(resource));
    return {
      nodeCount: this.#nodes.list().length,
      definitions,
      securityContextConstraints: definitions.has(CONSTRAINTS_DEFINITION),
      // What was applied stays while nobody can say.
      prometheusOperator: optional.every((informer) => informer.isServed || !informer.hasSynced),
      apiServerPorts: this.platform.apiServerPorts(),
    };
  }

  /** The newer one of the watched object and the answer to our last write. */
  live(identity: ObjectIdentity): KubeObject | undefined {
    return this.#lastWrites.newer(identity, this.#watched(identity));
  }

  /** Takes the API server's answer to one of our writes. */
  remember(object: KubeObject): void {
    this.#lastWrites.remember(object);
  }

  forget(identity: ObjectIdentity): void {
    this.#lastWrites.forget(identity);
  }

  /** One sentence if the API server does not list such objects, and what to do about it. */
  notListable({ apiVersion, kind }: ObjectIdentity): string | undefined {
    const isOfKind = (one: Resource): boolean => one.kind === kind && apiVersionOf(one) === apiVersion;
    const informer = [...this.#notListable].find(({ resource }) => isOfKind(resource));
    return informer && notListableText(informer.resource, informer.fault);
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
    const isServed = (object: KubeObject) => isDefinition && isEstablished(object as CustomResourceDefinition);
    informer.on({
      add: (object) => {
        if (isServed(object)) this.#expect(object);
        this.#wake("now");
      },
      update: (object, old) => {
        if (isServed(object)) this.#expect(object);
        if (!onlyStatusChanged(object, old) || isServed(object) !== isServed(old)) this.#wake("now");
        else if (REPORT_PROGRESS.includes(resource.kind)) this.#wake("soon");
      },
      delete: (object) => {
        this.#lastWrites.forgetDeleted(object);
        this.#wake("now");
      },
      // A list has what was written before, unless it is gone. No watch reports that of an object that it never had.
      onRelist: () => {
        const isFirst = this.#notListable.delete(informer);
        if (this.#lastWrites.forgetKind(kind, name) || isFirst) this.#wake("now");
      },
    });
  }

  /** For as long as it is not listed. One refusal may pass. */
  #setAside(informer: Informer<KubeObject>): void {
    if (informer.refusedMs < NOT_LISTABLE_WAIT_MS || this.#notListable.has(informer)) return;
    this.#notListable.add(informer);
    this.#wake("soon");
  }

  /** The kind of an established definition is looked for at once. */
  #expect(definition: KubeObject): void {
    for (const informer of this.#all) {
      const { plural, group } = informer.resource;
      if (`${plural}.${group}` === definition.metadata.name) informer.retryNow();
    }
  }

  #wake(urgency: Urgency): void {
    for (const listener of this.#listeners) listener(urgency);
  }

  #needed(): readonly WatchingInformer[] {
    return this.#informers().filter((informer) => !this.#notListable.has(informer));
  }

  #informers(): readonly WatchingInformer[] {
    return [...this.#own(), ...this.platform.needed];
  }

  #own(): readonly WatchingInformer[] {
    return [this.#nodes.informer, this.#pods, ...this.#all];
  }
}
