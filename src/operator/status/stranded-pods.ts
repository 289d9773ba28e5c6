/**
 * Pods of anybody that get no sandbox, because a component that the runtime calls for every pod refuses: its own pods run, and
 * only the kubelet's events report it. The pods are looked through now and then; there are too many to watch them.
 */

import { DEFAULT_NETWORK_ANNOTATION, NETWORKS_ANNOTATION } from "../../api/names.ts";
import type { Pod } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { RESOURCES } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Log } from "../../kube/log.ts";
import type { Rollout } from "./rollout.ts";
import type { WarningEvents } from "./warning-events.ts";

export interface StrandedPodsOptions {
  readonly client: KubeClient;
  readonly events: WarningEvents;
  readonly clock: Clock;
  readonly log: Log;
  /** A pod that waits for longer is reported. Pods are looked through five times in it. */
  readonly deadlineMs: number;
}

const NO_SANDBOX = "FailedCreatePodSandBox";
const REASONS: ReadonlySet<string> = new Set([NO_SANDBOX]);
const MAX_PODS = 20;
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
      return { ...known.rollout, recheckAfterMs: known.atMs + intervalMs - nowMs };
    }
    const stranded = await this.#find(sign, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      log.warn({ err: error }, `the pods that ${component} refuses could not be read`);
      return [];
    });
    const rollout = { ...render(component, sign, stranded), recheckAfterMs: intervalMs };
    this.#found.set(component, { atMs: nowMs, rollout });
    return rollout;
  }

  async #find(sign: string, signal: AbortSignal): Promise<Stranded[]> {
    const { client, clock, events } = this.#options;
    const nowMs = clock.now();
    // From the API server's cache.
    const pending = { fieldSelector: "status.phase=Pending", resourceVersion: "0", signal };
    const kept = (pod: Pod) => (this.#waits(pod, nowMs) ? slim(pod) : undefined);
    const { items } = await client.wholeList(RESOURCES.pods, pending, kept);
    const found: Stranded[] = [];
    for (const pod of items.sort((a, b) => createdMs(b) - createdMs(a)).slice(0, MAX_PODS)) {
      const { name = "", namespace = "", uid } = pod.metadata;
      const event = await events.latest({ kind: "Pod", namespace, name, uid, reasons: REASONS }, signal);
      if (event?.message.includes(sign)) found.push({ pod, text: event.message });
    }
    return found.sort((a, b) => (nameOf(a.pod) < nameOf(b.pod) ? -1 : 1));
  }

  /** Who asks for networks may ask for one that can't be had, which says nothing of the component. */
  #waits(pod: Pod, nowMs: number): boolean {
    const { annotations = {}, deletionTimestamp } = pod.metadata;
    const asks = NETWORKS_ANNOTATION in annotations || DEFAULT_NETWORK_ANNOTATION in annotations;
    const hasNetwork = pod.status?.podIP !== undefined || pod.spec?.hostNetwork === true;
    const isOnNode = pod.spec?.nodeName !== undefined && deletionTimestamp === undefined;
    return isOnNode && !hasNetwork && !asks && nowMs - createdMs(pod) >= this.#options.deadlineMs;
  }
}

interface Stranded {
  readonly pod: Pod;
  readonly text: string;
}

function render(component: string, sign: string, stranded: readonly Stranded[]): Rollout {
  const [first] = stranded;
  if (first === undefined) return { phase: "ready" };
  const nodes = [...new Set(stranded.map(({ pod }) => pod.spec?.nodeName ?? ""))].sort();
  return {
    phase: "failing",
    reason: NO_SANDBOX,
    message:
      `${component} runs on ${nodes.join(", ")} and pods can't start there. ` +
      `The kubelet says of pod ${nameOf(first.pod)}: ${essence(first.text, sign)}`,
    advice: `Mend that, or take ${component} out of the spec: docs/reference/runbooks.md`,
  };
}

function slim({ metadata: { name, namespace, uid, creationTimestamp }, spec }: Pod): Pod {
  return { metadata: { name, namespace, uid, creationTimestamp }, spec: { nodeName: spec?.nodeName } } as Pod;
}

function createdMs({ metadata }: Pod): number {
  return Date.parse(metadata.creationTimestamp ?? "");
}

function nameOf({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Without what is another one at each try, and the configuration that multus appends. The cause is at the end of a long text. */
function essence(text: string, sign: string): string {
  const [cause = ""] = text.slice(text.indexOf(sign)).split(/(?:\\n|\s)*'?: StdinData: \{/);
  const said = cause.replaceAll(OF_ONE_TRY, "...");
  return said.length <= MAX_TEXT_CHARS ? said : `${sign} ... ${said.slice(-MAX_TEXT_CHARS)}`;
}
