import type { KubeClient } from "../../../kube/client/client.ts";
import { RESOURCES } from "../../../kube/client/resource.ts";
import type { Clock } from "../../../kube/clock.ts";
import { keptFor } from "./kept-answer.ts";
import type { ConsistencyView } from "./views.ts";

const TIMEOUT_MS = 1_000;
const KEPT_MS = 2_000;
/** Leases of a duration that nobody has renewed for so many of them are held by nobody: clocks of machines differ. */
const DURATIONS = 4;

/** Who holds a Lease; null when nobody does. The answer may be two seconds old. */
export function leaderBy(
  client: KubeClient,
  lease: { readonly name: string; readonly namespace: string },
  clock: Clock,
): () => Promise<ConsistencyView["leader"]> {
  return keptFor(KEPT_MS, clock, async () => {
    const { spec } = await client.get(RESOURCES.leases, lease, { timeoutMs: TIMEOUT_MS });
    const { holderIdentity, acquireTime, renewTime, leaseDurationSeconds } = spec ?? {};
    const silentMs = clock.now() - (Date.parse(renewTime ?? "") || 0);
    if (!holderIdentity || silentMs > DURATIONS * (leaseDurationSeconds ?? 0) * 1000) return null;
    return {
      identity: holderIdentity,
      ...(acquireTime ? { since: acquireTime } : {}),
      ...(renewTime ? { renewed: renewTime } : {}),
    };
  });
}
