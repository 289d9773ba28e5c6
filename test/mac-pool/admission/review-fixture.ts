import type { Mac } from "../../../src/api/mac.ts";
import type { ConflictPolicy } from "../../../src/api/mac-pool.ts";
import { OBJECT_OPT_OUT_LABEL } from "../../../src/api/mac-pool-scope.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import type { AdmissionRequest } from "../../../src/kube/server/admission-server.ts";
import type { AdmissionParts, Decision } from "../../../src/mac-pool/admission/decision.ts";
import { reviewGuest } from "../../../src/mac-pool/admission/guest-review.ts";
import { RunExclusively } from "../../../src/mac-pool/admission/run-exclusively.ts";
import { StartTimes } from "../../../src/mac-pool/admission/start-times.ts";
import type { AttachedMac } from "../../../src/mac-pool/objects/listed-macs.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { NO_NETWORKS } from "../no-networks.ts";
import { poolSettings } from "../pool-settings.ts";
import { ledgerOf } from "./ledger-fixture.ts";

/** The production reviews on claims in memory. */

/** Namespaces; there are no others. */
const LABELS: Readonly<Record<string, Record<string, string>>> = {
  default: {},
  free: { [OBJECT_OPT_OUT_LABEL]: "allow" },
};

export const { signal } = new AbortController();

export function reviewParts(
  store = new MemoryClaimStore(),
  conflictPolicy: ConflictPolicy = "Deny",
  running: readonly string[] = [],
  machines: ReadonlyMap<string, readonly Mac[]> = new Map(),
): AdmissionParts {
  const { ledger, index } = ledgerOf(store, poolSettings(0x02_00_00_00_00_00, 0x10_00_00, { conflictPolicy }));
  const namespaces = { labelsOf: async (name: string) => LABELS[name] };
  const starts = new RunExclusively({
    store,
    isRunning: async ({ name = "" }) => running.includes(name),
    isReceiver: async () => false,
    objectsListing: () => [],
    isManaged: () => true,
    networks: NO_NETWORKS,
    times: new StartTimes({ clock: systemClock, startingMs: () => 75_000, ownersOf: () => [] }),
    clock: systemClock,
    startingMs: () => 75_000,
    isAwaited: () => false,
  });
  return {
    ledger,
    starts,
    policyIn: () => undefined,
    ownersOf: () => [],
    hasReceived: async () => false,
    macsOfMachine: { cached: () => undefined, live: async ({ name = "" }) => machines.get(name)?.map(attached) },
    networks: NO_NETWORKS,
    onUnjudged: () => {},
    index,
    namespaces,
    log: silentLog,
  };
}

const attached = (mac: Mac): AttachedMac => ({ mac, network: "multus n" });

export function reviewRequest(kind: string, object: unknown, more: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    uid: "1",
    kind: { group: "", version: "v1", kind },
    resource: { group: "", version: "v1", resource: "" },
    operation: "CREATE",
    name: "web",
    namespace: "default",
    object: object as AdmissionRequest["object"],
    oldObject: null,
    dryRun: false,
    userInfo: {},
    ...more,
  };
}

/** A VM whose interface `a` is on a multus network. */
export const vm = (interfaces: unknown, more: object = {}): object => ({
  metadata: { name: "web", namespace: "default", ...more },
  spec: {
    template: {
      spec: { domain: { devices: { interfaces } }, networks: [{ name: "a", multus: { networkName: "n" } }] },
    },
  },
});

export const review = async (
  object: unknown,
  more: Partial<AdmissionRequest> = {},
  parts = reviewParts(),
): Promise<Decision> => reviewGuest("VirtualMachine", reviewRequest("VirtualMachine", object, more), parts, signal);
