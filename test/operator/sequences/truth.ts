/** Whether the cluster is what its configuration asks for, and whether the status says so. */

import { setTimeout as sleep } from "node:timers/promises";
import { APPLIED_CONFIG_MAP, LABEL_MANAGED_BY, MANAGED_BY } from "../../../src/api/names.ts";
import type { NetworkAddonsConfig } from "../../../src/api/network-addons-config.ts";
import { isNotFound } from "../../../src/kube/client/api-error.ts";
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../../src/kube/client/resource.ts";
import { APPLIED_KINDS, appliedKind, isWorkload } from "../../../src/operator/apply/applied-kinds.ts";
import { keyOf } from "../../../src/operator/apply/inventory.ts";
import { INVENTORY_CONFIG_MAP } from "../../../src/operator/config/records.ts";
import type { OperatorSettings } from "../../../src/operator/config/settings.ts";
import { DEFAULT_SETTINGS } from "../../../src/operator/config/settings.ts";
import { type InstalledOperator, NAMESPACE } from "../support/installed-operator.ts";
import { NODES } from "../support/operator-harness.ts";
import { type Wanted, wantedBy } from "./wanted.ts";

/** How an object in the cluster differs from the wanted one. By itself: nothing of the operator's comparison is in here. Pure. */

/** Others may write these. */
const OTHERS = [
  /^webhooks\.\d+\.clientConfig\.caBundle$/,
  /^spec\.(clusterIPs?|ipFamilies|ipFamilyPolicy)(\.|$)/,
  /^spec\.template\.metadata\.(labels|annotations)\.[^ ]*$/,
];

/** `complete`: the wanted object as the API server stores a new one. Empty objects and lists count as absent. */
function differences(live: KubeObject, complete: KubeObject): string[] {
  return [...difference(bodyOf(live), bodyOf(complete), "", true), ...ofMetadata(live, complete)];
}

/** The same where the object has fields of others: only what is wanted has to be as it is. */
function missing(live: KubeObject, wanted: KubeObject): string[] {
  return [...difference(bodyOf(live), bodyOf(wanted), "", false), ...ofMetadata(live, wanted)];
}

function ofMetadata({ metadata }: KubeObject, wanted: KubeObject): string[] {
  const { labels, ownerReferences } = wanted.metadata;
  return [
    ...difference(metadata.labels, labels, "metadata.labels", false),
    ...difference(metadata.ownerReferences, ownerReferences, "metadata.ownerReferences", true),
    ...(metadata.deletionTimestamp === undefined ? [] : ["it is being deleted"]),
  ];
}

function bodyOf({ apiVersion: _, kind: __, metadata: ___, status: ____, ...body }: KubeObject): object {
  return body;
}

function difference(live: unknown, wanted: unknown, path: string, exact: boolean): string[] {
  if (wanted === undefined && (!exact || OTHERS.some((pattern) => pattern.test(path)))) return [];
  const [left, right] = [fieldsOf(live), fieldsOf(wanted)];
  if (left === undefined || right === undefined) {
    return live === wanted || OTHERS.slice(0, 2).some((pattern) => pattern.test(path))
      ? []
      : [`${path}: ${JSON.stringify(live)} instead of ${JSON.stringify(wanted)}`];
  }
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...keys].flatMap((key) => difference(left[key], right[key], path === "" ? key : `${path}.${key}`, exact));
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (value === undefined) return {};
  return value !== null && typeof value === "object" ? (value as Readonly<Record<string, unknown>>) : undefined;
}

/** A look is 25 lists. */
const LOOK_AGAIN_MS = 300;
const MULTUS = keyOf({ apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name: "multus", namespace: NAMESPACE } });
const OURS = `${LABEL_MANAGED_BY}=${MANAGED_BY}`;
/** The operator's own records, and the key of each. */
const RECORDS: Readonly<Record<string, string>> = {
  [APPLIED_CONFIG_MAP]: "applied",
  [INVENTORY_CONFIG_MAP]: "objects",
};

interface Counts {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly availableReplicas?: number;
  readonly desiredNumberScheduled?: number;
  readonly updatedNumberScheduled?: number;
  readonly numberAvailable?: number;
}

export class Truth {
  readonly #cluster: InstalledOperator;
  readonly #admin: KubeClient;
  readonly #settings: OperatorSettings;
  /** By what is wanted: the same as the API server stores it. */
  readonly #complete = new Map<string, KubeObject>();

  constructor(cluster: InstalledOperator, settings = DEFAULT_SETTINGS) {
    this.#cluster = cluster;
    this.#admin = cluster.admin;
    this.#settings = settings;
  }

  /** Resolves when nothing is wrong. */
  async comes(limitMs: number): Promise<void> {
    const endMs = performance.now() + limitMs;
    for (;;) {
      const faults = await this.faults().catch((error: Error) => [error.message]);
      if (faults.length === 0) return;
      if (performance.now() > endMs) {
        const found = await this.#podsAndEvents().catch((error: Error) => [error.message]);
        throw new Error([`after ${limitMs / 1000} s:`, ...faults, "the cluster has:", ...found].join("\n  "));
      }
      await sleep(LOOK_AGAIN_MS);
    }
  }

  /** Workloads that the controllers have not brought about, all pods, and warnings: whose fault it is. */
  async #podsAndEvents(): Promise<string[]> {
    const workloads = [...(await this.#live()).values()].filter(isWorkload);
    const behind = workloads.filter((workload) => rolloutFaults(workload).length > 0);
    const [{ items: pods }, { items: events }] = await Promise.all([
      this.#admin.list(RESOURCES.pods, { namespace: NAMESPACE }),
      this.#admin.list(RESOURCES.events, { namespace: NAMESPACE, fieldSelector: "type=Warning" }),
    ]);
    return [
      ...behind.map((one) => `${one.kind} ${one.metadata.name} ${one.metadata.uid}: ${JSON.stringify(one.status)}`),
      ...pods.map(({ metadata: { name, ownerReferences, deletionTimestamp }, spec, status }) =>
        [name, ownerReferences?.[0]?.uid, spec?.nodeName, status?.phase, deletionTimestamp].join(" "),
      ),
      ...events.slice(-20).map(({ regarding, note }) => `${regarding?.name}: ${note}`),
    ];
  }

  /** One sentence for each thing that is not as it has to be. */
  async faults(): Promise<string[]> {
    const config = await this.#cluster.config();
    if (config !== undefined && config.metadata.deletionTimestamp !== undefined)
      return ["the configuration still goes"];
    const live = await this.#live();
    const wanted = config === undefined ? undefined : wantedBy(config, this.#settings, live.get(MULTUS));
    const early =
      config === undefined || wanted === undefined ? [] : statusFaults(config, wanted, this.#settings.version);
    if (early.length > 0) return early;
    const { items: pods } = await this.#admin.list(RESOURCES.pods, { namespace: NAMESPACE, labelSelector: OURS });
    const objects = wanted?.objects ?? [];
    const faults = await Promise.all(objects.map((object) => this.#objectFaults(object, live.get(keyOf(object)))));
    return [
      ...faults.flat(),
      ...leftovers(live, objects),
      ...recordFaults(live, wanted),
      ...podFaults(pods, objects.filter(isWorkload)),
    ];
  }

  async #objectFaults(wanted: KubeObject, live: KubeObject | undefined): Promise<string[]> {
    const name = `${wanted.kind} ${wanted.metadata.name}`;
    if (live === undefined) return [`${name} is missing`];
    const { whole } = appliedKind(wanted);
    const found = whole ? differences(live, await this.#completed(wanted)) : missing(live, wanted);
    return [...found, ...(isWorkload(wanted) ? rolloutFaults(live) : [])].map((fault) => `${name}: ${fault}`);
  }

  /** By a dry run of the creation of its like. */
  async #completed(wanted: KubeObject): Promise<KubeObject> {
    const key = JSON.stringify({ ...wanted, metadata: { ...wanted.metadata, ownerReferences: [] } });
    const known = this.#complete.get(key);
    const { ownerReferences: _, ...metadata } = wanted.metadata;
    const like = { ...wanted, metadata: { ...metadata, name: `${metadata.name}-as-new` } };
    const complete = known ?? (await this.#admin.create(appliedKind(wanted).resource, like, { dryRun: true }));
    this.#complete.set(key, complete);
    return { ...complete, metadata: wanted.metadata };
  }

  async #live(): Promise<Map<string, KubeObject>> {
    const lists = await Promise.all(APPLIED_KINDS.map(({ resource }) => this.#list(resource)));
    return new Map(lists.flat().map((object) => [keyOf(object), object]));
  }

  async #list(resource: Resource): Promise<KubeObject[]> {
    const scope = resource.namespaced ? { namespace: NAMESPACE } : {};
    try {
      const { items } = await this.#admin.list(resource, { ...scope, labelSelector: OURS, limit: 0 });
      const { group, version, kind } = resource;
      return items.map((item) => ({ ...item, apiVersion: group === "" ? version : `${group}/${version}`, kind }));
    } catch (error) {
      if (isNotFound(error)) return [];
      throw error;
    }
  }
}

function statusFaults(
  { metadata, status }: NetworkAddonsConfig,
  { components, objects }: Wanted,
  version: string,
): string[] {
  const condition = (type: string) => status?.conditions?.find((candidate) => candidate.type === type);
  const rows = (status?.components ?? []).map(({ name, phase, message }) => `${name} ${phase} ${message ?? ""}`.trim());
  const containers = (status?.containers ?? []).map(({ parentName, name, image }) => `${parentName} ${name} ${image}`);
  const facts: Readonly<Record<string, readonly [unknown, unknown]>> = {
    generation: [status?.observedGeneration, metadata.generation],
    version: [status?.observedVersion, version],
    Degraded: [condition("Degraded")?.message ?? condition("Degraded")?.status, "False"],
    Progressing: [condition("Progressing")?.message ?? condition("Progressing")?.status, "False"],
    Available: [condition("Available")?.status, "True"],
    components: [rows.join(), components.map((name) => `${name} Available`).join()],
    containers: [containers.sort().join(), objects.filter(isWorkload).flatMap(containersOf).sort().join()],
  };
  return Object.entries(facts).flatMap(([what, [said, is]]) =>
    said === is ? [] : [`the status says ${what} ${JSON.stringify(said)} instead of ${JSON.stringify(is)}`],
  );
}

interface Containers {
  readonly initContainers?: readonly { readonly name: string; readonly image?: string }[];
  readonly containers?: readonly { readonly name: string; readonly image?: string }[];
}

function containersOf({ metadata, spec }: KubeObject): string[] {
  const { template } = spec as { readonly template: { readonly spec: Containers } };
  const { initContainers = [], containers = [] } = template.spec;
  return [...initContainers, ...containers].map(({ name, image }) => `${metadata.name} ${name} ${image}`);
}

function rolloutFaults({ kind, metadata, status }: KubeObject): string[] {
  const counts = (status ?? {}) as Counts;
  const { replicas, updatedReplicas, availableReplicas, desiredNumberScheduled } = counts;
  const isComplete =
    kind === "Deployment"
      ? replicas !== undefined && updatedReplicas === replicas && availableReplicas === replicas
      : desiredNumberScheduled === NODES.length &&
        counts.updatedNumberScheduled === NODES.length &&
        counts.numberAvailable === NODES.length;
  const isSeen = counts.observedGeneration === metadata.generation;
  return isComplete && isSeen ? [] : [`rolling out: ${JSON.stringify(counts)}`];
}

function leftovers(live: ReadonlyMap<string, KubeObject>, wanted: readonly KubeObject[]): string[] {
  const keys = new Set(wanted.map(keyOf));
  return [...live].flatMap(([key, object]) => {
    const isRecord = object.kind === "ConfigMap" && Object.hasOwn(RECORDS, object.metadata.name ?? "");
    const isData = appliedKind(object).removal === undefined;
    return keys.has(key) || isRecord || isData ? [] : [`${object.kind} ${object.metadata.name} is left`];
  });
}

function recordFaults(live: ReadonlyMap<string, KubeObject>, wanted: Wanted | undefined): string[] {
  const [applied, inventory] = Object.entries(RECORDS).map(([name, key]) => {
    const record = live.get(keyOf({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: NAMESPACE } }));
    return (record?.data as Readonly<Record<string, string>> | undefined)?.[key];
  });
  if (wanted === undefined) return [applied, inventory].every((text) => text === undefined) ? [] : ["records are left"];
  const entries = JSON.parse(inventory ?? "[]") as readonly { readonly name: string; readonly fingerprint?: string }[];
  const listed = entries.filter(({ fingerprint }) => fingerprint !== undefined).map(({ name }) => name);
  // Two components may bring the same object.
  const names = [...new Map(wanted.objects.map((object) => [keyOf(object), object.metadata.name ?? ""])).values()];
  return [
    ...(applied === JSON.stringify(wanted.spec) ? [] : [`the record of the spec is ${applied}`]),
    ...surplus(names, listed).map((name) => `${name} is not in the inventory, or has no fingerprint there`),
    ...surplus(listed, names).map((name) => `${name} is in the inventory`),
  ];
}

/** What is more often in one list than in the other. */
function surplus(one: readonly string[], other: readonly string[]): string[] {
  const rest = [...other];
  return one.filter((name) => {
    const position = rest.indexOf(name);
    if (position !== -1) rest.splice(position, 1);
    return position === -1;
  });
}

function podFaults(pods: readonly Pod[], workloads: readonly KubeObject[]): string[] {
  const selectors = workloads.map(({ spec }) => {
    const { selector } = spec as { readonly selector: { readonly matchLabels: Readonly<Record<string, string>> } };
    return Object.entries(selector.matchLabels);
  });
  return pods.flatMap(({ metadata }) => {
    const belongs = selectors.some((selector) => selector.every(([key, value]) => metadata.labels?.[key] === value));
    if (!belongs) return [`pod ${metadata.name} belongs to nothing`];
    return metadata.deletionTimestamp === undefined ? [] : [`pod ${metadata.name} still stops`];
  });
}
