import type { Clock } from "../kube/clock.ts";
import type { Health } from "../kube/server/health.ts";
import type { LinkTable } from "../links/link-table.ts";
import type { NodePublisher } from "./node-publisher.ts";

/** What the process depends on must not be stuck for longer. */
export interface LivenessLimits {
  /** Without a complete list of links. */
  readonly maxUnsyncedMs: number;
  /** Without an answer of the API server. */
  readonly maxUnansweredMs: number;
}

/** Whether the process is alive: if not, another one may get on with the kernel or the API server. */
export function checkLiveness(
  health: Pick<Health, "alive">,
  {
    links,
    publisher,
    clock,
  }: {
    readonly links: Pick<LinkTable, "synced">;
    readonly publisher: Pick<NodePublisher, "unansweredMs">;
    readonly clock: Clock;
  },
  { maxUnsyncedMs, maxUnansweredMs }: LivenessLimits,
): void {
  let syncedAtMs = clock.monotonicMs();
  health.alive("links", () => {
    if (links.synced) syncedAtMs = clock.monotonicMs();
    return clock.monotonicMs() - syncedAtMs < maxUnsyncedMs || "the list of links is not complete";
  });
  health.alive("api", () => publisher.unansweredMs < maxUnansweredMs || "the API server does not answer");
}
