/** Plays the kubelets of nodes that do not exist: pods with a node run and are ready at once, deleted ones are gone at once. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";

const PAUSE_MS = 150;

export class Kubelets implements AsyncDisposable {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(client: KubeClient, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
    this.#running = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        const { items } = await this.#client.list(RESOURCES.pods, { namespace: this.#namespace, limit: 0 });
        await Promise.allSettled(items.map((pod) => this.#play(pod)));
      } catch {
        // The API server is away. So would kubelets go on.
      }
      await sleep(PAUSE_MS);
    }
  }

  async #play({ metadata, spec, status }: Pod): Promise<void> {
    const ref = { name: metadata.name ?? "", namespace: this.#namespace };
    if (metadata.deletionTimestamp !== undefined) {
      await this.#client.delete(RESOURCES.pods, ref, { gracePeriodSeconds: 0, uid: metadata.uid });
      return;
    }
    if (spec?.nodeName === undefined || status?.phase === "Running") return;
    const patch = { type: "merge" as const, body: { status: running(spec.containers) } };
    await this.#client.patch(RESOURCES.pods, ref, patch, { subresource: "status" });
  }
}

function running(containers: NonNullable<Pod["spec"]>["containers"]): object {
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  const types = ["PodScheduled", "PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"];
  return {
    phase: "Running",
    startTime: now,
    conditions: types.map((type) => ({ type, status: "True", lastTransitionTime: now })),
    containerStatuses: containers.map(({ name, image }) => ({
      ...{ name, image, imageID: image, ready: true, started: true, restartCount: 0 },
      state: { running: { startedAt: now } },
    })),
  };
}
