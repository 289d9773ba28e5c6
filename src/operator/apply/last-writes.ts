/** Answers of the API server to the operator's own writes, until the watch catches up. */

import type { KubeObject } from "../../kube/client/resource.ts";
import { identityKey, keyOf, type ObjectIdentity } from "./inventory.ts";

export class LastWrites {
  readonly #written = new Map<string, KubeObject>();

  remember(object: KubeObject): void {
    this.#written.set(keyOf(object), object);
  }

  forget(identity: ObjectIdentity): void {
    this.#written.delete(identityKey(identity));
  }

  /** The watch reports that this object is gone. Another of its name may have been written since. */
  forgetDeleted(object: KubeObject): void {
    const key = keyOf(object);
    const written = this.#written.get(key);
    const isNewer = written?.metadata.uid !== object.metadata.uid && revision(written ?? object) > revision(object);
    if (!isNewer) this.#written.delete(key);
  }

  /** The newer one of the watched object and the answer to the last write. */
  newer(identity: ObjectIdentity, watched: KubeObject | undefined): KubeObject | undefined {
    const key = identityKey(identity);
    const written = this.#written.get(key);
    if (written === undefined) return watched;
    if (watched !== undefined && revision(watched) >= revision(written)) {
      this.#written.delete(key);
      return watched;
    }
    return written;
  }

  /** Forgets what was written of a kind, or of its object with that name. True if there was something. */
  forgetKind(kind: string, name: string | undefined): boolean {
    const before = this.#written.size;
    for (const [key, { metadata }] of this.#written) {
      if (key.startsWith(`${kind} `) && (name === undefined || metadata.name === name)) this.#written.delete(key);
    }
    return this.#written.size < before;
  }
}

/** etcd revisions: opaque by contract, but decimal and growing in every API server. */
function revision(object: KubeObject): number {
  return Number(object.metadata.resourceVersion ?? 0);
}
