import { parseMac } from "../../src/api/mac.ts";
import { isAlreadyExists } from "../../src/kube/client/api-error.ts";
import type { Clock } from "../../src/kube/clock.ts";
import type { Caches } from "../../src/mac-pool/caches.ts";
import { PENDING_MS } from "../../src/mac-pool/core/limits.ts";
import type { ClaimStore } from "../../src/mac-pool/ledger/claim-store.ts";
import { distinctHolders } from "../../src/mac-pool/objects/holders.ts";
import type { Seams } from "./sim-replica.ts";

/**
 * The product with one of its guards taken away, by what is put between its parts. The simulation has to notice each:
 * one that it does not notice is either no guard or not tested.
 */
export const MUTATIONS = {
  /** A creation that meets a claim takes it for its own. */
  "create as lock": {
    store: (store) => ({
      ...store,
      async create(claim, signal) {
        try {
          return await store.create(claim, signal);
        } catch (error) {
          if (!isAlreadyExists(error)) throw error;
          const found = await current(store, claim.spec.mac, signal);
          return store.update({ ...claim, metadata: { ...found?.metadata, ...claim.metadata } }, signal);
        }
      },
    }),
  },
  /** Updates and deletions go by whatever version there is. */
  resourceVersion: {
    store: (store) => ({
      ...store,
      async update(claim, signal) {
        const found = await current(store, claim.spec.mac, signal);
        return store.update({ ...claim, metadata: { ...claim.metadata, ...versionOf(found) } }, signal);
      },
      async remove(claim, signal) {
        const found = await current(store, claim.spec.mac, signal);
        return store.remove({ ...claim, metadata: { ...claim.metadata, ...versionOf(found) } }, signal);
      },
    }),
  },
  /** Releases and bindings go by the cache. */
  "live read": {
    evidence: (_live, caches) => (mac) => Promise.resolve(fromCache(caches, mac)),
  },
  /** What was admitted has no time to show up. */
  "deadline kept": {
    controllerClock: (clock) => hurried(clock),
  },
  /** What was admitted and never shows up is waited for without end. */
  "deadline ends": {
    controllerClock: (clock) => ({ ...bare(clock), monotonicMs: () => 0 }),
  },
  /** A request takes any claim that it meets for its own. */
  "owner comparison": {
    ledgerStore: (store) => ({
      ...store,
      async read(mac, signal) {
        const found = await store.read(mac, signal);
        return found?.status === undefined ? found : { ...found, status: { ...found.status, owners: [] } };
      },
    }),
  },
  /** Any object that has the name and the address is taken for the one that was admitted. */
  "admitted object": {
    evidence: (live) => async (mac, parties) => {
      const { holders, existing } = await live(mac, parties);
      return { holders: holders.map((holder) => ({ ...holder, confirms: true })), existing };
    },
  },
  /** An admitted start is not noted on the claim: of two at one moment none sees the other. */
  "start noted": {
    starts: (options) => ({ ...options, store: { ...options.store, update: (claim) => Promise.resolve(claim) } }),
  },
  /** Nobody looks whether another holder runs. */
  "running read": {
    starts: (options) => ({ ...options, isRunning: () => Promise.resolve(false) }),
  },
  /** What is plugged into a running VM is judged when its VM is changed only. */
  "plug-in judged": {
    asks: ({ kind, operation }) => kind.kind !== "VirtualMachineInstance" || operation !== "UPDATE",
  },
  /** Every namespace is served by the pool `default`. */
  "pool selection": {
    namespaces: ({ labelsOf }) => ({
      async labelsOf(namespace, signal) {
        return (await labelsOf(namespace, signal)) && {};
      },
    }),
  },
} as const satisfies Record<string, Seams>;

export type Mutation = keyof typeof MUTATIONS;

function current(store: ClaimStore, text: string, signal?: AbortSignal) {
  const mac = parseMac(text);
  return mac === undefined ? Promise.resolve(undefined) : store.read(mac, signal);
}

const versionOf = (claim: Awaited<ReturnType<ClaimStore["read"]>>) => ({
  ...(claim?.metadata.uid === undefined ? {} : { uid: claim.metadata.uid }),
  resourceVersion: claim?.metadata.resourceVersion ?? "0",
});

function fromCache(caches: Caches, mac: Parameters<Caches["sightings"]>[0]) {
  const sightings = caches.sightings(mac);
  return { holders: distinctHolders(sightings), existing: sightings };
}

function bare(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    after: (ms, callback) => clock.after(ms, callback),
  };
}

/** Each look at the clock is a deadline later than the one before. */
function hurried(clock: Clock): Clock {
  let aheadMs = 0;
  return {
    ...bare(clock),
    monotonicMs() {
      aheadMs += PENDING_MS;
      return clock.monotonicMs() + aheadMs;
    },
  };
}
