import type { NadRef } from "../../api/claim-network.ts";
import {
  NETWORK_ATTACHMENT_DEFINITIONS,
  NODE_MACS,
  VIRTUAL_MACHINE_INSTANCES,
  VIRTUAL_MACHINES,
} from "../../api/kinds.ts";
import { landingOf } from "../../api/landing.ts";
import { isNamespaceName, isObjectName } from "../../api/legal-names.ts";
import { LAUNCHER_SELECTOR } from "../../api/names.ts";
import type { NodeMACs } from "../../api/node-macs.ts";
import { ApiError, ConnectionError, isForbidden, isNotFound } from "../../kube/client/api-error.ts";
import type { Node, Pod } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { defineResource, type KubeObject, RESOURCES, type Resource } from "../../kube/client/resource.ts";
import { launchersOf } from "../backends/launcher.ts";
import type { OwnerRef } from "../backends/pool-backend.ts";
import { type Network, networkIn } from "../networks.ts";
import type { Machine, NodeInCluster, Read, WayFacts } from "./facts.ts";
import { quoted } from "./step.ts";

const MACHINES: Resource<Machine> = VIRTUAL_MACHINES;
const INSTANCES: Resource<Machine> = VIRTUAL_MACHINE_INSTANCES;
const NETWORKS: Resource<KubeObject> = NETWORK_ATTACHMENT_DEFINITIONS;
const REPORTS = NODE_MACS as Resource as Resource<NodeMACs>;
/** Of the core group, which the role `view` has. */
const EVENTS: Resource<PodEvent> = defineResource<PodEvent>("v1", "Event", "events", true);
const SANDBOX_FAILED = "FailedCreatePodSandBox";

type PodEvent = KubeObject & {
  readonly reason?: string;
  readonly message?: string;
  readonly eventTime?: string | null;
  readonly lastTimestamp?: string | null;
  readonly series?: { readonly lastObservedTime?: string } | null;
};

/** The objects between an owner of addresses and the network. */
export type RunningObjects = Pick<WayFacts, "machine" | "instance" | "pod">;

/** Reads with the rights of the user; what they may not see becomes a sentence. Throws what is no answer of the cluster. */
export class FactReader {
  readonly #client: KubeClient;
  readonly #options: { readonly managedFields: false; readonly timeoutMs: number };

  constructor(client: KubeClient, timeoutMs: number) {
    this.#client = client;
    this.#options = { managedFields: false, timeoutMs };
  }

  /** `podName`: of the pod that runs it, where the pool tells that. */
  async objects({ kind, namespace, name }: OwnerRef, podName?: string): Promise<RunningObjects> {
    const ref = { namespace, name };
    if (kind === "Pod") {
      return { machine: undefined, instance: undefined, pod: await this.#get(RESOURCES.pods, ref) };
    }
    const [machine, instance] = await Promise.all([
      kind === "VirtualMachine" ? this.#get(MACHINES, ref) : undefined,
      this.#get(INSTANCES, ref),
    ]);
    const isHidden = "unknown" in instance && podName !== undefined;
    const pod = isHidden
      ? await this.#get(RESOURCES.pods, { namespace, name: podName })
      : await this.#launcher(instance, namespace);
    return { machine, instance, pod };
  }

  async network({ namespace, name }: NadRef): Promise<Read<Network>> {
    const read = await this.#get(NETWORKS, { namespace, name });
    return "unknown" in read ? read : { value: read.value && networkOf(read.value, namespace) };
  }

  /** Of a namespace, or all of the cluster. */
  async networks(namespace?: string): Promise<Read<readonly Network[]>> {
    const read = await this.#list(NETWORKS, { namespace });
    return "unknown" in read ? read : { value: read.value?.flatMap((nad) => networkOf(nad, "") ?? []) };
  }

  async nodes(): Promise<Read<readonly NodeInCluster[]>> {
    const read = await this.#list(RESOURCES.nodes);
    return "unknown" in read ? read : { value: read.value?.map(withLanding) };
  }

  reports(): Promise<Read<readonly NodeMACs[]>> {
    return this.#list(REPORTS);
  }

  /** Why the runtime could not make the sandbox of the pod, the newest first; of one that runs, nothing is asked. */
  async sandboxErrors(pod: Read<Pod>): Promise<Read<readonly string[]>> {
    if ("unknown" in pod) return pod;
    const { namespace, name, uid } = pod.value?.metadata ?? {};
    if (name === undefined || pod.value?.status?.phase === "Running") return { value: [] };
    const fieldSelector = `involvedObject.kind=Pod,involvedObject.name=${name},reason=${SANDBOX_FAILED}`;
    const read = await this.#list(EVENTS, { namespace, fieldSelector });
    if ("unknown" in read) return read;
    const isMeant = ({ reason, involvedObject }: PodEvent): boolean =>
      reason === SANDBOX_FAILED && (involvedObject as { readonly uid?: string } | undefined)?.uid === uid;
    const events = (read.value ?? []).filter(isMeant).sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1));
    return { value: events.map(({ message = "" }) => message) };
  }

  async #launcher(instance: Read<Machine>, namespace: string): Promise<Read<Pod>> {
    if ("unknown" in instance) return instance;
    if (instance.value === undefined) return { value: undefined };
    const read = await this.#list(RESOURCES.pods, { namespace, labelSelector: LAUNCHER_SELECTOR });
    if ("unknown" in read) return read;
    return { value: launchersOf(instance.value, read.value ?? [])[0] };
  }

  async #get<T extends KubeObject>(resource: Resource<T>, ref: NadRef): Promise<Read<T>> {
    if (!isNamespaceName(ref.namespace) || !isObjectName(ref.name)) return { value: undefined };
    return await known(this.#client.get(resource, ref, this.#options), `get on ${resource.plural}`);
  }

  async #list<T extends KubeObject>(
    resource: Resource<T>,
    select: { readonly namespace?: string | undefined; readonly fieldSelector?: string; labelSelector?: string } = {},
  ): Promise<Read<readonly T[]>> {
    const read = await known(
      this.#client.list(resource, { ...this.#options, ...select }),
      `list on ${resource.plural}`,
    );
    return "unknown" in read ? read : { value: read.value?.items };
  }
}

/** `right`: what the read needs, as `list on nodes`. */
async function known<T>(read: Promise<T>, right: string): Promise<Read<T>> {
  try {
    return { value: await read };
  } catch (error) {
    if (isForbidden(error)) return { unknown: notVisible(right) };
    if (isNotFound(error)) return { value: undefined };
    if (error instanceof ApiError || error instanceof ConnectionError) {
      return { unknown: `not known: ${quoted(error.message)}` };
    }
    throw error;
  }
}

export function notVisible(right: string): string {
  return `not visible to you: needs ${right}`;
}

function networkOf(nad: KubeObject, namespace: string): Network | undefined {
  const { group, version, kind } = NETWORKS;
  return networkIn({ object: { ...nad, apiVersion: `${group}/${version}`, kind } }, namespace);
}

function withLanding(node: Node): NodeInCluster {
  return { name: node.metadata.name ?? "", ...landingOf(node) };
}

function timeOf({ lastTimestamp, series, eventTime, metadata }: PodEvent): string {
  return series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? "";
}
