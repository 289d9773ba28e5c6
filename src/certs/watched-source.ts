import type { Registry } from "prom-client";
import type { KubeClient } from "../kube/client/client.ts";
import type { KubeObject, Resource } from "../kube/client/resource.ts";
import { Informer } from "../kube/informer/informer.ts";
import type { Log } from "../kube/log.ts";
import type { CertificateSource, ServerCertificate } from "../kube/server/certificate-source.ts";

/** The object that is watched. */
export interface WatchedObject<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly namespace?: string;
  readonly name: string;
  readonly absentIsEmpty?: boolean;
  readonly log: Log;
  readonly metrics: Registry;
}

/** A certificate that depends on one object, by watch, and may be that of another source, which its creator runs. */
export abstract class WatchedSource<T extends KubeObject> implements CertificateSource {
  protected readonly informer: Informer<T>;
  readonly #beneath: CertificateSource | undefined;
  readonly #listeners = new Set<() => void>();

  constructor({ name, ...watched }: WatchedObject<T>, beneath?: CertificateSource) {
    this.#beneath = beneath;
    this.informer = new Informer({ ...watched, fieldSelector: `metadata.name=${name}` });
    const read = (object: T): void => this.read(object);
    this.informer.on({ add: read, update: read, delete: () => this.read(undefined) });
  }

  abstract current(): ServerCertificate | undefined;

  /** Takes what the object says. Undefined: there is none any more. */
  protected abstract read(object: T | undefined): void;

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    const unsubscribe = this.#beneath?.onChange(listener);
    return () => {
      this.#listeners.delete(listener);
      unsubscribe?.();
    };
  }

  /** Watches the object until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.informer.run(signal);
  }

  protected notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
