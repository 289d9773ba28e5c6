/** What the platform says by objects of its own, by watch: OpenShift's network, and the level of Pod Security of a namespace. */

import type { Registry } from "prom-client";
import type { Namespace } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { RESOURCES } from "../../kube/client/resource.ts";
import { Informer } from "../../kube/informer/informer.ts";
import type { Log } from "../../kube/log.ts";
import { ENFORCE_LABEL } from "../manifests/pod-security.ts";
import {
  NETWORKS,
  OPENSHIFT_NETWORK_NAME,
  type OpenShiftNetwork,
  type PlatformFacts,
  platformFacts,
} from "./platform.ts";
import { slimNamespace } from "./slim.ts";
import { onlyStatusChanged } from "./urgency.ts";

export interface PlatformViewOptions {
  readonly client: KubeClient;
  /** Of the components. */
  readonly namespace: string;
  readonly onChange: () => void;
  readonly log: Log;
  readonly metrics: Registry;
}

/** The API server serves a kind a moment after its definition is established. */
const SERVED_RETRY_MS = 200;

interface FollowedNetwork {
  readonly informer: Informer<OpenShiftNetwork>;
  readonly end: AbortController;
}

export class PlatformView {
  readonly #options: PlatformViewOptions;
  readonly #namespace: Informer<Namespace>;
  /** While its kind is defined. */
  #network: FollowedNetwork | undefined;
  #signal: AbortSignal | undefined;

  constructor(options: PlatformViewOptions) {
    const { namespace, onChange, ...reporting } = options;
    this.#options = options;
    this.#namespace = new Informer({
      ...reporting,
      resource: RESOURCES.namespaces,
      fieldSelector: `metadata.name=${namespace}`,
      transform: slimNamespace,
    });
    this.#namespace.on({
      add: onChange,
      update: (live, old) => {
        if (levelOf(live) !== levelOf(old)) onChange();
      },
      delete: onChange,
    });
  }

  /** Nobody has to wait until it is synced: it says when it does not know. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
    this.#namespace.start(signal);
  }

  /** Whether OpenShift's kind is defined. Call it again whenever that may have changed. */
  follow(isDefined: boolean): void {
    if (this.#signal === undefined || isDefined === (this.#network !== undefined)) return;
    this.#network?.end.abort();
    this.#network = isDefined ? this.#watchNetwork(this.#signal) : undefined;
  }

  retryNow(relist: boolean): void {
    this.#namespace.retryNow(relist);
    this.#network?.informer.retryNow(relist);
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

  #watchNetwork(signal: AbortSignal): FollowedNetwork {
    const { namespace: _, onChange, ...reporting } = this.#options;
    const informer = new Informer({
      ...reporting,
      resource: NETWORKS,
      fieldSelector: `metadata.name=${OPENSHIFT_NETWORK_NAME}`,
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

function levelOf({ metadata }: Namespace): string | undefined {
  return metadata.labels?.[ENFORCE_LABEL];
}
