/** Brings a pod's status to the API server: one write at a time, the latest state, nothing when nothing changed. */
import type { PodStatus } from "kubernetes-types/core/v1.js";
import { isConflict, isNotFound } from "../../../src/kube/client/api-error.ts";
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { systemClock } from "../../../src/kube/clock.ts";

const RETRY_MS = 300;

export class StatusWriter {
  readonly #client: KubeClient;
  readonly #ref: { name: string; namespace: string };
  readonly #uid: string;
  readonly #current: () => PodStatus;
  readonly #log: (line: string) => void;
  #dirty = false;
  #gone = false;
  #writing: Promise<void> | undefined;
  #written = "";
  #complaint = "";

  constructor(client: KubeClient, pod: Pod, current: () => PodStatus, log: (line: string) => void) {
    this.#client = client;
    this.#ref = { name: pod.metadata.name ?? "", namespace: pod.metadata.namespace ?? "" };
    this.#uid = pod.metadata.uid ?? "";
    this.#current = current;
    this.#log = log;
  }

  /** Something may have changed. */
  changed(): void {
    this.#dirty = true;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
      if (this.#dirty && !this.#gone) this.changed();
    });
  }

  /** Resolves when the API server has the present state, or no such pod any more. */
  async flush(): Promise<void> {
    this.changed();
    while (this.#writing !== undefined) await this.#writing;
  }

  /** The pod is gone: no more writes. */
  close(): void {
    this.#gone = true;
  }

  async #write(): Promise<void> {
    // Changes that come together go together.
    await Promise.resolve();
    while (this.#dirty && !this.#gone) {
      this.#dirty = false;
      const status = this.#current();
      const text = JSON.stringify(status);
      if (text === this.#written) continue;
      try {
        // The uid keeps it from a later pod of this name.
        const body = { metadata: { uid: this.#uid }, status: replacingAddresses(status) };
        await this.#client.patch(RESOURCES.pods, this.#ref, { type: "strategic", body }, { subresource: "status" });
        this.#written = text;
      } catch (error) {
        if (isNotFound(error) || isConflict(error)) {
          this.close();
          return;
        }
        const complaint = `status of ${this.#ref.name}: ${error instanceof Error ? error.message : error}`;
        if (complaint !== this.#complaint) this.#log(complaint);
        this.#complaint = complaint;
        this.#dirty = true;
        await systemClock.sleep(RETRY_MS);
      }
    }
  }
}

/** Addresses are merged by value; those of an earlier sandbox must go. */
function replacingAddresses(status: PodStatus): object {
  const replaced = (addresses: readonly object[]): object[] => [{ $patch: "replace" }, ...addresses];
  const { podIPs, hostIPs } = status;
  return {
    ...status,
    ...(podIPs === undefined ? {} : { podIPs: replaced(podIPs) }),
    ...(hostIPs === undefined ? {} : { hostIPs: replaced(hostIPs) }),
  };
}
