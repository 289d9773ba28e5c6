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
} from "../platform.ts";
import { slimNamespace } from "./slim.ts";
import { onlyStatusChanged } from "./urgency.ts";

export interface PlatformViewOptions {
  readonly client: KubeClient;
  /** Of the components. */
  readonly namespace: string;
  readonly onChange: () => void;
  /** OpenShift's kind is looked for this often where there is none. */
  readonly absentRetryMs: number;
  readonly log: Log;
  readonly metrics: Registry;
}

export class PlatformView {
  readonly #namespace: Informer<Namespace>;
  readonly #network: Informer<OpenShiftNetwork>;

  constructor({ namespace, onChange, absentRetryMs, ...reporting }: PlatformViewOptions) {
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
    this.#network = new Informer({
      ...reporting,
      resource: NETWORKS,
      fieldSelector: `metadata.name=${OPENSHIFT_NETWORK_NAME}`,
      absentIsEmpty: true,
      rules: { absentRetryMs },
    });
    this.#network.on({
      add: onChange,
      update: (live, old) => {
        if (!onlyStatusChanged(live, old)) onChange();
      },
      delete: onChange,
    });
  }

  /** Nobody has to wait until they are synced: they say when they do not know. */
  start(signal: AbortSignal): void {
    for (const informer of [this.#namespace, this.#network]) informer.start(signal);
  }

  /** Undefined until the API server has answered whether this is OpenShift. */
  facts(): PlatformFacts | undefined {
    return this.#network.hasSynced ? platformFacts(this.#network.get(OPENSHIFT_NETWORK_NAME)) : undefined;
  }

  /** Undefined where the namespace asks for none. */
  podSecurityLevel(): string | undefined {
    const [namespace] = this.#namespace.list();
    return namespace && levelOf(namespace);
  }
}

function levelOf({ metadata }: Namespace): string | undefined {
  return metadata.labels?.[ENFORCE_LABEL];
}
