/** Events about pods, as `kubectl describe pod` shows them. The same sentence about a pod comes once a minute at most. */
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";

const REPEAT_MS = 60_000;
const MAX_NOTE_CHARS = 1000;

export class PodEvents {
  readonly #client: KubeClient;
  readonly #node: string;
  readonly #log: (line: string) => void;
  readonly #said = new Map<string, number>();

  constructor(client: KubeClient, node: string, log: (line: string) => void) {
    this.#client = client;
    this.#node = node;
    this.#log = log;
  }

  warn(pod: Pod, reason: string, note: string): void {
    const { name = "", namespace = "", uid = "" } = pod.metadata;
    const key = `${uid} ${reason} ${note}`;
    const now = performance.now();
    if (now - (this.#said.get(key) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return;
    this.#said.set(key, now);
    const event = {
      metadata: { generateName: `${name.slice(0, 200)}-`, namespace },
      eventTime: new Date().toISOString().replace("Z", "000Z"),
      type: "Warning",
      reason,
      note: note.slice(0, MAX_NOTE_CHARS),
      action: "Sync",
      regarding: { apiVersion: "v1", kind: "Pod", name, namespace, uid },
      reportingController: "kubelet",
      reportingInstance: this.#node,
    };
    this.#client
      .create(RESOURCES.events, event)
      .catch((error: Error) => this.#log(`event ${reason} of ${namespace}/${name}: ${error.message}`));
  }
}
