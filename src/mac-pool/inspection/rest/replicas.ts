import { MAC_POOL_INSPECTION_PORT_NAME, MAC_POOL_SELECTOR } from "../../../api/names.ts";
import type { Pod } from "../../../kube/client/built-in-kinds.ts";
import { labelSelectorOf } from "../../../kube/client/call-options.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { RESOURCES } from "../../../kube/client/resource.ts";
import type { Clock } from "../../../kube/clock.ts";
import type { Log } from "../../../kube/log.ts";
import { AnswerCache } from "./ttl-cache.ts";
import type { ConsistencyView } from "./views.ts";

const SELECTOR = labelSelectorOf(MAC_POOL_SELECTOR);
/** More replicas than anybody runs; each is a call for every question that needs all of them. */
const MAX_REPLICAS = 8;
const KEPT_MS = 2_000;
/** More than there are watches, each of which may ask for a namespace of its own. An answer is a part of what the replicas remember. */
const MAX_KEPT = 256;
const TIMEOUT_MS = 1_000;
/** Durations of a Lease without a renewal, after which nobody holds it. Clocks of machines differ. */
const DURATIONS = 4;

/** Another replica, and where its inspection listens. */
export interface Replica {
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

export interface ReplicasOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Name of the pod of this replica. */
  readonly self: string;
  /** GET of a path of another replica, as JSON. Throws when there is no answer with status 200. */
  readonly ask: (replica: Replica, path: string, signal: AbortSignal) => Promise<unknown>;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Answers {
  readonly answers: readonly { readonly replica: string; readonly answer: unknown }[];
  /** Names of those that did not answer in time; `*` when it is not known who there is. */
  readonly missing: readonly string[];
}

/**
 * Asks the other replicas what only they know. They are found by their pods, which the pool may list anyway.
 */
export class Replicas {
  readonly #options: ReplicasOptions;
  readonly #others: AnswerCache<readonly Replica[]>;
  readonly #answers: AnswerCache<Answers>;

  constructor(options: ReplicasOptions) {
    this.#options = options;
    this.#others = new AnswerCache(options.clock, { ttlMs: KEPT_MS, max: 1 });
    this.#answers = new AnswerCache(options.clock, { ttlMs: KEPT_MS, max: MAX_KEPT });
  }

  ask(path: string): Promise<Answers> {
    return this.#answers.get(path, () => this.#askAll(path));
  }

  async #askAll(path: string): Promise<Answers> {
    const { ask, log } = this.#options;
    const others = await this.#others
      .get("", () => this.#listOthers())
      .catch((error: unknown) => {
        log.warn({ err: error }, "could not list the other replicas");
        return undefined;
      });
    if (others === undefined) return { answers: [], missing: ["*"] };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const asked = await Promise.all(
      others.map(async (other) => {
        try {
          return { replica: other.name, answer: await ask(other, path, signal) };
        } catch (error) {
          log.debug({ err: error, replica: other.name }, "another replica did not answer");
          return { replica: other.name, answer: undefined };
        }
      }),
    );
    return {
      answers: asked.filter(({ answer }) => answer !== undefined),
      missing: asked.filter(({ answer }) => answer === undefined).map(({ replica }) => replica),
    };
  }

  async #listOthers(): Promise<readonly Replica[]> {
    const { client, namespace, self } = this.#options;
    const options = { namespace, labelSelector: SELECTOR, timeoutMs: TIMEOUT_MS };
    const { items } = await client.list(RESOURCES.pods, options);
    return items
      .filter(({ metadata, status }) => metadata.name !== self && status?.phase === "Running")
      .flatMap((pod) => replicaOf(pod) ?? [])
      .slice(0, MAX_REPLICAS);
  }
}

function replicaOf({ metadata, spec, status }: Pod): Replica | undefined {
  const ports = spec?.containers.flatMap(({ ports = [] }) => ports) ?? [];
  const port = ports.find(({ name }) => name === MAC_POOL_INSPECTION_PORT_NAME)?.containerPort;
  const host = status?.podIP;
  if (host === undefined || port === undefined || metadata.name === undefined) return undefined;
  return { name: metadata.name, host, port };
}

/** Who holds a Lease; null when nobody does. */
export function leaderBy(
  client: KubeClient,
  lease: { readonly name: string; readonly namespace: string },
  clock: Clock,
): () => Promise<ConsistencyView["leader"]> {
  const kept = new AnswerCache<ConsistencyView["leader"]>(clock, { ttlMs: KEPT_MS, max: 1 });
  const read = async (): Promise<ConsistencyView["leader"]> => {
    const { spec } = await client.get(RESOURCES.leases, lease, { timeoutMs: TIMEOUT_MS });
    const { holderIdentity, acquireTime, renewTime, leaseDurationSeconds } = spec ?? {};
    const silentMs = clock.now() - (Date.parse(renewTime ?? "") || 0);
    if (!holderIdentity || silentMs > DURATIONS * (leaseDurationSeconds ?? 0) * 1000) return null;
    return {
      identity: holderIdentity,
      ...(acquireTime ? { since: acquireTime } : {}),
      ...(renewTime ? { renewed: renewTime } : {}),
    };
  };
  return () => kept.get("", read);
}
