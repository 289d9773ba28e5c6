/** All pods of the node: follows the API server's list of them. */
import { Registry } from "prom-client";
import type { Pod as PodObject } from "../../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { Informer } from "../../../src/kube/informer/informer.ts";
import { deletePod, Pod } from "./pod.ts";
import type { PodContext } from "./pod-context.ts";

export class Pods {
  readonly #context: PodContext;
  readonly #byUid = new Map<string, Pod>();

  constructor(context: PodContext) {
    this.#context = context;
  }

  run(signal: AbortSignal): Promise<void> {
    const { client, config } = this.#context;
    const fieldSelector = `spec.nodeName=${config.plan.name}`;
    const informer = new Informer({ client, resource: RESOURCES.pods, fieldSelector, metrics: new Registry() });
    informer.on({
      add: (object) => this.#seen(object),
      update: (object, old) => {
        if (old.metadata.uid !== object.metadata.uid) this.#gone(old);
        this.#seen(object);
      },
      delete: (object) => this.#gone(object),
    });
    return informer.run(signal);
  }

  find(namespace: string, name: string): Pod | undefined {
    return [...this.#byUid.values()].find(({ key }) => key === `${namespace}/${name}`);
  }

  #seen(object: PodObject): void {
    const { uid = "", deletionTimestamp } = object.metadata;
    const known = this.#byUid.get(uid);
    if (known !== undefined) {
      known.update(object);
      if (deletionTimestamp !== undefined) this.#stop(known, false);
      return;
    }
    if (deletionTimestamp !== undefined) {
      void deletePod(this.#context, object); // it never ran here, or not since the node was switched on
      return;
    }
    if (["Succeeded", "Failed"].includes(object.status?.phase ?? "")) return;
    this.#byUid.set(uid, new Pod(object, this.#context));
  }

  #gone({ metadata: { uid = "" } }: PodObject): void {
    const pod = this.#byUid.get(uid);
    if (pod !== undefined) this.#stop(pod, true);
  }

  #stop(pod: Pod, force: boolean): void {
    pod
      .stop(force)
      .catch((error: Error) => this.#context.log(`stop ${pod.key}: ${error.stack}`))
      .finally(() => this.#byUid.delete(pod.uid));
  }
}
