/**
 * What the platform says, by watch: OpenShift's network, the level of Pod Security of the namespace, the CRDs of other products,
 * where the API servers listen. Until the watch of OpenShift's network has begun, the API server is asked.
 */

import type { Registry } from "prom-client";
import { OPENSHIFT_NETWORKS } from "../../api/kinds.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { CustomResourceDefinition, EndpointSlice, Namespace } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { apiVersionOf, type KubeObject, RESOURCES, type Resource } from "../../kube/client/resource.ts";
import { Informer } from "../../kube/informer/informer.ts";
import type { Log } from "../../kube/log.ts";
import { isEstablished } from "../apply/applied-kinds.ts";
import { ENFORCE_LABEL } from "../manifests/labels.ts";
import type { Facts } from "./facts.ts";
import { slimDefinition, slimNamespace } from "./slim.ts";
import { onlyStatusChanged } from "./urgency.ts";

/** What only OpenShift's own object says. */
export type PlatformFacts = Pick<Facts, "openShift" | "multiNetworkDisabled">;

/** OpenShift's configuration of the cluster's network. */
interface OpenShiftNetwork extends KubeObject {
  readonly spec?: { readonly disableMultiNetwork?: boolean };
}

export interface PlatformViewOptions {
  readonly client: KubeClient;
  /** Of the components. */
  readonly namespace: string;
  /** Names of the CRDs of other products on which it depends what is applied. */
  readonly prerequisites: readonly string[];
  readonly onChange: () => void;
  /** Called when the API server serves one of the CRDs. */
  readonly onServed: (definition: CustomResourceDefinition) => void;
  readonly log: Log;
  readonly metrics: Registry;
}

export const NETWORKS: Resource<OpenShiftNetwork> = OPENSHIFT_NETWORKS;
export const OPENSHIFT_NETWORK_NAME = "cluster";
export const NETWORKS_DEFINITION = `${NETWORKS.plural}.${NETWORKS.group}`;
const NETWORK_PATH = `/apis/${apiVersionOf(NETWORKS)}/${NETWORKS.plural}/${OPENSHIFT_NETWORK_NAME}`;

/** The API servers keep it themselves, in the namespace `default`. */
export const API_SERVER_SLICE = "kubernetes";

/** The API server serves a kind a moment after its definition is established. */
const SERVED_RETRY_MS = 200;

interface FollowedNetwork {
  readonly informer: Informer<OpenShiftNetwork>;
  readonly end: AbortController;
}

export class PlatformView {
  readonly #options: PlatformViewOptions;
  readonly #namespace: Informer<Namespace>;
  readonly #definitions: readonly Informer<CustomResourceDefinition>[];
  readonly #apiServers: Informer<EndpointSlice>;
  /** While its kind is defined. */
  #network: FollowedNetwork | undefined;
  #signal: AbortSignal | undefined;

  constructor(options: PlatformViewOptions) {
    const { client, namespace, prerequisites, onChange, onServed, log, metrics } = options;
    const reporting = { client, log, metrics };
    this.#options = options;
    const namespaces = { ...reporting, resource: RESOURCES.namespaces, transform: slimNamespace };
    this.#namespace = new Informer({ ...namespaces, fieldSelector: named(namespace) });
    this.#namespace.on({
      add: onChange,
      update: (live, old) => {
        if (levelOf(live) !== levelOf(old)) onChange();
      },
      delete: onChange,
    });
    const changed = (definition: CustomResourceDefinition): void => {
      if (isEstablished(definition)) onServed(definition);
      this.#follow();
      onChange();
    };
    const definitions = { ...reporting, resource: RESOURCES.crds, transform: slimDefinition };
    this.#definitions = prerequisites.map((name) => new Informer({ ...definitions, fieldSelector: named(name) }));
    for (const informer of this.#definitions) informer.on({ add: changed, update: changed, delete: changed });
    const slices = { ...reporting, resource: RESOURCES.endpointSlices, namespace: "default" };
    this.#apiServers = new Informer({ ...slices, fieldSelector: named(API_SERVER_SLICE) });
    this.#apiServers.on({ add: onChange, update: onChange, delete: onChange });
  }

  /** Those that have to be synced. Of the others `facts` and `podSecurityLevel` say when they do not know. */
  get needed() {
    return [this.#apiServers, ...this.#definitions];
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    for (const informer of [this.#namespace, ...this.needed]) informer.start(signal);
  }

  retryNow(relist: boolean): void {
    for (const informer of [this.#namespace, this.#network?.informer, ...this.needed]) informer?.retryNow(relist);
  }

  /** Undefined until the API server has answered whether this is OpenShift. */
  facts(): PlatformFacts | undefined {
    if (this.#network === undefined) return platformFacts(undefined);
    const { informer } = this.#network;
    return informer.hasSynced ? platformFacts(informer.get(OPENSHIFT_NETWORK_NAME)) : undefined;
  }

  /** Undefined where the namespace asks for none. */
  podSecurityLevel(): string | undefined {
    const [namespace] = this.#namespace.list();
    return namespace && levelOf(namespace);
  }

  /** Names of the CRDs that the API server serves and goes on to serve. */
  served(): ReadonlySet<string> {
    const defined = this.#definitions.flatMap((informer) => informer.list());
    const served = defined.filter((one) => one.metadata.deletionTimestamp === undefined && isEstablished(one));
    return new Set(served.map(({ metadata }) => metadata.name ?? ""));
  }

  /** At which the API servers listen: in order, each once. */
  apiServerPorts(): number[] {
    const ports = this.#apiServers.list().flatMap((slice) => (slice.ports ?? []).flatMap(({ port }) => port ?? []));
    return [...new Set(ports)].sort((a, b) => a - b);
  }

  /** Watches OpenShift's network while its kind is defined. */
  #follow(): void {
    const isDefined = this.served().has(NETWORKS_DEFINITION);
    if (this.#signal === undefined || isDefined === (this.#network !== undefined)) return;
    this.#network?.end.abort();
    this.#network = isDefined ? this.#watchNetwork(this.#signal) : undefined;
  }

  #watchNetwork(signal: AbortSignal): FollowedNetwork {
    const { client, onChange, log, metrics } = this.#options;
    const informer = new Informer({
      ...{ client, log, metrics },
      resource: NETWORKS,
      fieldSelector: named(OPENSHIFT_NETWORK_NAME),
      absentIsEmpty: true,
      rules: { absentRetryMs: SERVED_RETRY_MS },
    });
    informer.on({
      add: onChange,
      update: (live, old) => {
        if (!onlyStatusChanged(live, old)) onChange();
      },
      delete: onChange,
    });
    const end = new AbortController();
    informer.start(AbortSignal.any([signal, end.signal]));
    return { informer, end };
  }
}

/** Throws if the API server gives no usable answer. */
export async function askPlatform(client: KubeClient, signal: AbortSignal): Promise<PlatformFacts> {
  const answer = await client.raw("GET", NETWORK_PATH, { signal });
  if (answer.status === 404) return platformFacts(undefined);
  if (answer.status !== 200) {
    throw new ApiError({
      status: answer.status,
      reason: "Unknown",
      message: `OpenShift's network configuration could not be read: the API server answered ${answer.status}`,
      request: `GET ${NETWORK_PATH}`,
    });
  }
  return platformFacts(answer.body as OpenShiftNetwork);
}

/** `network`: undefined where there is none. */
function platformFacts(network: OpenShiftNetwork | undefined): PlatformFacts {
  return { openShift: network !== undefined, multiNetworkDisabled: network?.spec?.disableMultiNetwork === true };
}

function levelOf({ metadata }: Namespace): string | undefined {
  return metadata.labels?.[ENFORCE_LABEL];
}

function named(name: string): string {
  return `metadata.name=${name}`;
}
