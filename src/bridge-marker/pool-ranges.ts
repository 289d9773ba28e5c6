import { createHash } from "node:crypto";
import { MAC_POOLS } from "../api/kinds.ts";
import type { MACPool } from "../api/mac-pool.ts";
import { type MacRange, mergeRanges, parseRangeText } from "../api/mac-range.ts";
import { isNotFound } from "../kube/client/api-error.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Resource } from "../kube/client/resource.ts";
import type { Clock } from "../kube/clock.ts";
import type { Log } from "../kube/log.ts";

/** A program that is told of more would need more memory; the ranges with the highest addresses are left out. */
const MAX_RANGES = 1024;
/** After a failure, unless the ranges are read more often anyway. */
const RETRY_MS = 60_000;

interface PoolRangesOptions {
  readonly client: Pick<KubeClient, "list">;
  readonly refreshMs: number;
  /** The first time, and when they are others. */
  readonly onRanges: (ranges: readonly MacRange[]) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Reads the ranges of all MACPools from time to time, until the signal aborts. A watch would bring each node every change of
 * every pool's counters.
 */
export async function followPoolRanges(options: PoolRangesOptions, signal: AbortSignal): Promise<void> {
  const { refreshMs, onRanges, clock, log } = options;
  let last = "";
  while (!signal.aborted) {
    let waitMs = refreshMs;
    try {
      const ranges = await readRanges(options.client, signal);
      const text = JSON.stringify(ranges);
      if (text !== last) onRanges(ranges);
      last = text;
    } catch (error) {
      if (!signal.aborted) log.debug({ err: error }, "the ranges of MACPools can't be read; those read before stay");
      waitMs = Math.min(refreshMs, RETRY_MS);
    }
    await clock.sleep(waitMs, signal).catch(() => undefined);
  }
}

/** Ranges in force, without what the pools never give out. None where the cluster has no MACPools. */
async function readRanges(client: Pick<KubeClient, "list">, signal: AbortSignal): Promise<readonly MacRange[]> {
  try {
    const { items } = await client.list(MAC_POOLS as Resource<MACPool>, { resourceVersion: "0", signal });
    const ranges = items.flatMap(({ status }) => (status?.ranges ?? []).flatMap((text) => parseRangeText(text) ?? []));
    return mergeRanges(ranges).slice(0, MAX_RANGES);
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

/** The line that the link monitor is told: `StationQuery` in cni-plugins/link-monitor. */
export function stationQuery(ranges: readonly MacRange[], nodeName: string): string {
  const seed = createHash("sha256").update(nodeName).digest().readInt32LE();
  return `${JSON.stringify({ ranges: ranges.map(({ start, end }) => [start, end]), seed })}\n`;
}
