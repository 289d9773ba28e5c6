/**
 * Pods of anybody that get no sandbox, because a component that the runtime calls for every pod refuses: its own pods run, and
 * only the kubelet's events tell. They are read now and then; there are too many to watch them.
 */

import { DEFAULT_NETWORK_ANNOTATION, NETWORKS_ANNOTATION } from "../../api/names.ts";
import { isNotFound } from "../../kube/client/api-error.ts";
import type { KubeEvent, Pod } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { RESOURCES } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Log } from "../../kube/log.ts";
import type { Rollout } from "./rollout.ts";
import { timeOf } from "./warning-events.ts";

export interface StrandedPodsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** A pod that waits for longer has a reason to be told. Events are read five times in it. */
  readonly deadlineMs: number;
}

export const NO_SANDBOX = "FailedCreatePodSandBox";
/** The kubelet repeats an event about a pod at least every five minutes. */
const RECENT_MS = 900_000;
const MAX_EVENTS = 500;
const MAX_PODS = 10;
const MAX_TEXT_CHARS = 500;
/** Each try has a sandbox of its own. */
const OF_ONE_TRY = /[0-9a-f]{64}|cni-[0-9a-f-]{36}/g;

export class StrandedPods {
  readonly #options: StrandedPodsOptions;
  readonly #found = new Map<string, { readonly atMs: number; readonly rollout: Rollout }>();

  constructor(options: StrandedPodsOptions) {
    this.#options = options;
  }

  /** `sign`: what the component writes into the reason of a refusal. */
  async rolloutOf(component: string, sign: string, signal: AbortSignal): Promise<Rollout> {
    const { clock, deadlineMs, log } = this.#options;
    const intervalMs = deadlineMs / 5;
    const nowMs = clock.monotonicMs();
    const known = this.#found.get(component);
    if (known !== undefined && nowMs - known.atMs < intervalMs) {
      return { ...known.rollout, lookAgainMs: known.atMs + intervalMs - nowMs };
    }
    const stranded = await this.#find(sign, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      log.warn({ err: error }, `the pods that ${component} refuses could not be read`);
      return [];
    });
    const rollout = { ...told(component, sign, stranded), lookAgainMs: intervalMs };
    this.#found.set(component, { atMs: nowMs, rollout });
    return rollout;
  }

  async #find(sign: string, signal: AbortSignal): Promise<Stranded[]> {
    const { client, clock } = this.#options;
    const fieldSelector = `type=Warning,reason=${NO_SANDBOX}`;
    const { items } = await client.page(RESOURCES.events, { fieldSelector, limit: MAX_EVENTS, signal });
    const nowMs = clock.now();
    const told = items
      .filter((event) => event.note?.includes(sign) === true && nowMs - timeOf(event) < RECENT_MS)
      .sort((a, b) => timeOf(b) - timeOf(a));
    const latest = new Map(told.toReversed().map((event) => [event.regarding?.uid ?? "", event]));
    const found: Stranded[] = [];
    for (const event of [...latest.values()].slice(-MAX_PODS)) {
      const pod = await this.#podOf(event, signal);
      if (pod !== undefined && this.#isStranded(pod, nowMs)) found.push({ pod, text: event.note ?? "" });
    }
    return found.sort((a, b) => (nameOf(a.pod) < nameOf(b.pod) ? -1 : 1));
  }

  async #podOf({ regarding }: KubeEvent, signal: AbortSignal): Promise<Pod | undefined> {
    const { name = "", namespace, uid } = regarding ?? {};
    try {
      const pod = await this.#options.client.get(RESOURCES.pods, { name, namespace }, { signal });
      return pod.metadata.uid === uid ? pod : undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Who asks for networks may ask for one that can't be had, which says nothing of the component. */
  #isStranded({ metadata, status }: Pod, nowMs: number): boolean {
    const annotations = metadata.annotations ?? {};
    const asks = NETWORKS_ANNOTATION in annotations || DEFAULT_NETWORK_ANNOTATION in annotations;
    const waits = metadata.deletionTimestamp === undefined && status?.phase === "Pending" && status.podIP === undefined;
    return waits && !asks && nowMs - Date.parse(metadata.creationTimestamp ?? "") >= this.#options.deadlineMs;
  }
}

interface Stranded {
  readonly pod: Pod;
  readonly text: string;
}

function told(component: string, sign: string, stranded: readonly Stranded[]): Rollout {
  const [first] = stranded;
  if (first === undefined) return { phase: "ready" };
  const nodes = [...new Set(stranded.map(({ pod }) => pod.spec?.nodeName ?? ""))].sort();
  return {
    phase: "failing",
    reason: NO_SANDBOX,
    message:
      `${component} runs on ${nodes.join(", ")} and pods can't start there. ` +
      `The kubelet says of pod ${nameOf(first.pod)}: ${essence(first.text, sign)}`,
    advice: `Mend that, or take ${component} out of the spec: docs/runbooks.md`,
  };
}

function nameOf({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Without what is another one at each try. The cause is at the end of a long text. */
function essence(text: string, sign: string): string {
  const said = text.slice(text.indexOf(sign)).replaceAll(OF_ONE_TRY, "...");
  return said.length <= MAX_TEXT_CHARS ? said : `${sign} ... ${said.slice(-MAX_TEXT_CHARS)}`;
}
