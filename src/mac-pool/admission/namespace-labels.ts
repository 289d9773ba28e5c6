import { isNotFound } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { Semaphore } from "../../kube/client/semaphore.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import { KINDS } from "../objects/kinds.ts";

export interface NamespaceLabels {
  /** Undefined when there is no such namespace. One that the cache does not have yet is asked for. */
  labelsOf(namespace: string, signal: AbortSignal): Labels | undefined | Promise<Labels | undefined>;
}

type Labels = Readonly<Record<string, string>>;

const READ_TIMEOUT_MS = 3_000;

/**
 * Reads at once; further ones wait. A namespace that was created a moment ago is rare, and reviews that make up namespaces
 * must not take the calls of those that claim.
 */
const MAX_READS = 4;

export function namespaceLabels(
  client: Pick<KubeClient, "get">,
  informer: Pick<Informer<KubeObject>, "get">,
): NamespaceLabels {
  const reads = new Semaphore(MAX_READS);
  const readInTurn = async (namespace: string, signal: AbortSignal): Promise<Labels | undefined> => {
    const leave = await reads.acquire(signal);
    try {
      return await readLabels(client, namespace, signal);
    } finally {
      leave();
    }
  };
  return {
    labelsOf(namespace, signal) {
      const cached = informer.get(namespace);
      if (cached !== undefined) return cached.metadata.labels ?? NO_LABELS;
      return namespace === "" ? undefined : readInTurn(namespace, signal);
    },
  };
}

const NO_LABELS: Labels = {};

async function readLabels(
  client: Pick<KubeClient, "get">,
  name: string,
  signal: AbortSignal,
): Promise<Labels | undefined> {
  try {
    const read = await client.get(KINDS.namespaces, { name }, { signal, timeoutMs: READ_TIMEOUT_MS });
    return read.metadata.labels ?? NO_LABELS;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
