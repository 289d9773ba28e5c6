import { STATIONS } from "../../api/host-interfaces.ts";
import { formatMac, POD_BRIDGE_MAC } from "../../api/mac.ts";
import type { PoolCounts } from "./pool.ts";

/** What has the addresses of a full pool. */
export function describeFull(pool: string, counts: PoolCounts): string {
  const { capacity, used, pending, quarantined, hostAddresses } = counts;
  if (capacity === 0) return `MACPool ${pool} ${NO_ADDRESSES}.`;
  const bound = used - pending - quarantined;
  const asked = capacity - used - hostAddresses;
  const uses: [count: number, what: string][] = [
    [bound, "in use by objects"],
    [pending, "kept for objects that were admitted and may still be stored"],
    [quarantined, "in quarantine"],
    [hostAddresses, `used by nodes or by ${STATIONS}`],
    [asked, "being given out, or listed by objects without a claim"],
  ];
  const parts = uses.flatMap(([count, what]) => (count > 0 ? `${count} ${count === 1 ? "is" : "are"} ${what}` : []));
  const none = capacity === 1 ? "the only address" : `none of the ${capacity.toLocaleString("en-US")} addresses`;
  return (
    `the range is full: ${none} of MACPool ${pool} is ${capacity === 1 ? "taken" : "free"}.` +
    `${parts.length > 0 ? ` ${parts.join(", ")}.` : ""}`
  );
}

export const MORE_ADDRESSES = "Add a range to the pool, or delete objects that are no longer needed.";

/** Of a pool without any, after its name. */
export const NO_ADDRESSES =
  "has no addresses: its ranges are invalid, its exclusions cover them, or they hold only " +
  `${formatMac(POD_BRIDGE_MAC)}, which KubeVirt reserves`;
