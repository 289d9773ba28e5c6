import { formatMac, type Mac } from "../../../src/api/mac.ts";
import { type Clock, systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { ClaimLedger, type LedgerOptions } from "../../../src/mac-pool/admission/claim-ledger.ts";
import type { ClaimRequest, ClaimResult } from "../../../src/mac-pool/admission/claim-request.ts";
import type { ObservedOwner } from "../../../src/mac-pool/claims/owner.ts";
import type { PoolSettings } from "../../../src/mac-pool/pools/pool.ts";
import { PoolIndex } from "../../../src/mac-pool/pools/pool-index.ts";
import type { MemoryClaimStore } from "../memory-claim-store.ts";
import { NO_NETWORKS } from "../no-networks.ts";
import { poolSettings } from "../pool-settings.ts";

/** The production ledger on claims in memory. */

const FIRST = 0x02_00_00_00_01_00;
export const mac = (offset: number): Mac => (FIRST + offset) as Mac;

/** One replica: its own index, which learns nothing of what others write. */
export function replica(
  store: MemoryClaimStore,
  size: number,
  objectsListing: (mac: Mac) => readonly ObservedOwner[] = () => [],
  clock: Clock = systemClock,
): { ledger: ClaimLedger; index: PoolIndex } {
  return ledgerOf(store, poolSettings(FIRST, size), objectsListing, clock);
}

/** The ledger of a replica that has one pool. */
export function ledgerOf(
  store: MemoryClaimStore,
  settings: PoolSettings,
  objectsListing: (mac: Mac) => readonly ObservedOwner[] = () => [],
  clock: Clock = systemClock,
  addressesOfInterface: LedgerOptions["addressesOfInterface"] = () => [],
): { ledger: ClaimLedger; index: PoolIndex } {
  const index = new PoolIndex();
  index.setPool(settings);
  const ledger = new ClaimLedger({
    store,
    index,
    clock,
    random: () => 0,
    policyIn: () => undefined,
    objectsListing,
    isAwaited: () => false,
    networks: NO_NETWORKS,
    addressesOfInterface,
    log: silentLog,
    onGranted: () => {},
  });
  return { ledger, index };
}

export function request(
  index: PoolIndex,
  name: string,
  wantedInterfaces: readonly (Mac | undefined)[],
  dryRun = false,
): ClaimRequest {
  return {
    ref: { kind: "VirtualMachine", namespace: "default", name },
    wantedInterfaces: wantedInterfaces.map((wanted, position) => ({
      interface: `i${position}`,
      network: undefined,
      mac: wanted,
      had: false,
    })),
    listed: new Set(wantedInterfaces.filter((wanted) => wanted !== undefined)),
    pool: index.pool("default"),
    receiver: false,
    judgedAnew: false,
    field: "macAddress",
    dryRun,
  };
}

/** An object that lists an address. */
export const seen = (more: Partial<ObservedOwner>): ObservedOwner => ({
  kind: "VirtualMachine",
  namespace: "default",
  name: "web",
  uid: "u1",
  interface: "i0",
  countsAsOwner: true,
  ...more,
});

export const macsOf = (result: ClaimResult): string[] =>
  result.ok ? result.macs.map(formatMac) : [result.refusal.code];
