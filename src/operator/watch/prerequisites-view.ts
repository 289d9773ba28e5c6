/** The CRDs of other products on which it depends what is applied, by watch. */

import type { Registry } from "prom-client";
import type { CustomResourceDefinition } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { RESOURCES } from "../../kube/client/resource.ts";
import { Informer } from "../../kube/informer/informer.ts";
import type { Log } from "../../kube/log.ts";
import { isEstablished } from "../apply/established.ts";
import { slimDefinition } from "./slim.ts";

export interface PrerequisitesViewOptions {
  readonly client: KubeClient;
  /** Of the CRDs. */
  readonly names: readonly string[];
  readonly onChange: (definition: CustomResourceDefinition) => void;
  readonly log: Log;
  readonly metrics: Registry;
}

export class PrerequisitesView {
  readonly informers: readonly Informer<CustomResourceDefinition>[];

  constructor({ names, onChange, ...reporting }: PrerequisitesViewOptions) {
    this.informers = names.map((name) => {
      const one = { resource: RESOURCES.crds, fieldSelector: `metadata.name=${name}`, transform: slimDefinition };
      const informer = new Informer({ ...reporting, ...one });
      informer.on({ add: onChange, update: onChange, delete: onChange });
      return informer;
    });
  }

  /** Names of those that the API server serves and goes on to serve. */
  served(): ReadonlySet<string> {
    const defined = this.informers.flatMap((informer) => informer.list());
    const served = defined.filter((one) => one.metadata.deletionTimestamp === undefined && isEstablished(one));
    return new Set(served.map(({ metadata }) => metadata.name ?? ""));
  }
}
