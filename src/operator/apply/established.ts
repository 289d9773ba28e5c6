import type { CustomResourceDefinition } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { RESOURCES } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";

/** How long one call waits. Where there are several API servers, each takes five seconds on purpose. */
const WAIT_MS = 2_000;
const TIMEOUT_MS = 30_000;
const POLL_MS = 50;
const NUDGE_MS = 8_000;
const NUDGE_ANNOTATION = "networkaddonsoperator.network.kubevirt.io/establish";

/** Whether the API server serves the kind. Pure. */
export function isEstablished(definition: CustomResourceDefinition | undefined): boolean {
  return isTrue(definition, "Established");
}

interface Awaited {
  readonly sinceMs: number;
  isNudged: boolean;
}

/** Waits for kinds, over several passes. */
export class Establishing {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #awaited = new Map<string, Awaited>();

  constructor({ client, clock }: { readonly client: KubeClient; readonly clock: Clock }) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Whether the API server serves the kind, now or within two seconds; `known` is the definition as last seen. Throws when it
   * has been waited for for 30 s.
   *
   * An API server that ends between accepting the names and establishing the kind goes on with it only when the definition
   * changes, or minutes later. So it is changed, and changed back.
   */
  async isServed(name: string, known: CustomResourceDefinition | undefined, signal: AbortSignal): Promise<boolean> {
    const startMs = this.#clock.monotonicMs();
    const awaited = this.#awaited.get(name) ?? { sinceMs: startMs, isNudged: false };
    this.#awaited.set(name, awaited);
    for (let live = known; !isEstablished(live); live = await this.#next(name, signal)) {
      const nowMs = this.#clock.monotonicMs();
      const waitedMs = nowMs - awaited.sinceMs;
      if (waitedMs > TIMEOUT_MS) throw new Error(`the API server still does not serve it after ${TIMEOUT_MS / 1000} s`);
      if (waitedMs > NUDGE_MS && !awaited.isNudged && isTrue(live, "NamesAccepted")) {
        awaited.isNudged = true;
        await this.#nudge(name, signal);
      }
      if (nowMs - startMs > WAIT_MS) return false;
    }
    this.#awaited.delete(name);
    return true;
  }

  async #next(name: string, signal: AbortSignal): Promise<CustomResourceDefinition> {
    await this.#clock.sleep(POLL_MS, signal);
    return this.#client.get(RESOURCES.crds, { name }, { signal });
  }

  async #nudge(name: string, signal: AbortSignal): Promise<void> {
    for (const value of ["again", null]) {
      const body = { metadata: { annotations: { [NUDGE_ANNOTATION]: value } } };
      await this.#client.patch(RESOURCES.crds, { name }, { type: "merge", body }, { signal });
    }
  }
}

function isTrue(definition: CustomResourceDefinition | undefined, wanted: string): boolean {
  return definition?.status?.conditions?.some(({ type, status }) => type === wanted && status === "True") ?? false;
}
