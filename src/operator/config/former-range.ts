/** The range of a MAC pool that was here before: a cluster that changes its operator keeps its addresses. */

import { MAC_POOL_RANGE_CONFIG_MAP } from "../../api/names.ts";
import { isNotFound } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { RESOURCES } from "../../kube/client/resource.ts";
import { NO_FACTS } from "../watch/facts.ts";
import type { PoolRange } from "./effective-spec.ts";
import { validateSpec } from "./validation.ts";

/** From the first namespace that has one. A range that could not be asked for is none. */
export async function formerRange(
  client: KubeClient,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<PoolRange | undefined> {
  for (const namespace of namespaces) {
    const range = await rangeIn(client, namespace, signal);
    if (range !== undefined && validateSpec({ kubeMacPool: range }, NO_FACTS).length === 0) return range;
  }
  return undefined;
}

async function rangeIn(client: KubeClient, namespace: string, signal: AbortSignal): Promise<PoolRange | undefined> {
  try {
    const ref = { name: MAC_POOL_RANGE_CONFIG_MAP, namespace };
    const { data = {} } = await client.get(RESOURCES.configMaps, ref, { signal });
    const { RANGE_START: rangeStart, RANGE_END: rangeEnd } = data;
    return rangeStart && rangeEnd ? { rangeStart, rangeEnd } : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
