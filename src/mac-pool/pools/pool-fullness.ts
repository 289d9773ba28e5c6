import { STATIONS } from "../../api/host-interfaces.ts";
import { formatMac, POD_BRIDGE_MAC } from "../../api/mac.ts";
import type { PoolCounts } from "./pool.ts";

/** What has the addresses of a full pool. */
export function describeFull(pool: string, counts: PoolCounts): string {
  const { capacity, used, pending, quarantined, hostAddresses } = counts;
  if (capacity === 0) return `MACPool ${pool} ${NO_ADDRESSES}.`;
  const bound = used - pending - quarantined;
  const asked = capacity - used - hostAddresses;
  const none = capacity === 1 ? "the only address" : `none of the ${capacity.toLocaleString("en-US")} addresses`;
  return (
    `the range is full: ${none} of MACPool ${pool} is ${capacity === 1 ? "taken" : "free"}. Objects have ${bound}, ${pending} are ` +
    `kept for objects that were admitted and may still be stored, ${quarantined} are in quarantine` +
    `${hostAddresses > 0 ? `, ${hostAddresses} are addresses of nodes or of ${STATIONS}` : ""}${asked > 0 ? `, ${asked} are being given out` : ""}.`
  );
}

export const MORE_ADDRESSES = "Add a range to the pool, or delete objects that are no longer needed.";

/** Of a pool without any, after its name. */
export const NO_ADDRESSES =
  "has no addresses: its ranges are invalid, its exclusions cover them, or they hold only " +
  `${formatMac(POD_BRIDGE_MAC)}, which KubeVirt reserves`;
