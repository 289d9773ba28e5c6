import { parseMac } from "../../src/api/mac.ts";
import { isAlreadyExists } from "../../src/kube/client/api-error.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import type { Clock } from "../../src/kube/clock.ts";
import type { ClaimStore } from "../../src/mac-pool/claims/claim-store.ts";
import { PENDING_MS } from "../../src/mac-pool/claims/limits.ts";
import { readLiveOwners } from "../../src/mac-pool/cluster/live-owners.ts";
import { hasSay } from "../../src/mac-pool/cluster/standing.ts";
import { distinctOwnersSeen } from "../../src/mac-pool/objects/listed-macs.ts";
import { isOptedOut, isReceiver, macsHeld } from "./objects.ts";
import type { Seams } from "./sim-replica.ts";

/**
 * The product without one of its guards. The simulation must notice each: a guard whose absence goes unnoticed is not
 * needed or not tested.
 */
export const MUTATIONS = {
  /** A creation that meets a claim takes it for its own. */
  "create as lock": {
    between: forAllClaims((claims) => ({
      ...claims,
      async create(claim, signal) {
        try {
          return await claims.create(claim, signal);
        } catch (error) {
          if (!isAlreadyExists(error)) throw error;
          const found = await current(claims, claim.spec.mac, signal);
          return claims.update({ ...claim, metadata: { ...found?.metadata, ...claim.metadata } }, signal);
        }
      },
    })),
  },
  /** Updates and deletions go by whatever version there is. */
  resourceVersion: {
    between: forAllClaims((claims) => ({
      ...claims,
      async update(claim, signal) {
        const found = await current(claims, claim.spec.mac, signal);
        return claims.update({ ...claim, metadata: { ...claim.metadata, ...versionOf(found) } }, signal);
      },
      async remove(claim, signal) {
        const found = await current(claims, claim.spec.mac, signal);
        return claims.remove({ ...claim, metadata: { ...claim.metadata, ...versionOf(found) } }, signal);
      },
    })),
  },
  /** Releases go by the cache. */
  "live read": {
    between: (connections, caches) => ({
      ...connections,
      liveOwners: (_reads, mac) => Promise.resolve(distinctOwnersSeen(caches.claimants(mac))),
    }),
  },
  /** Nobody looks for the launchers of VMs, though they may have been started. */
  "launchers of started": {
    between: (connections, caches) => ({
      ...connections,
      liveOwners: (reads, mac, { status }, parties) =>
        readLiveOwners(reads, mac, parties, {
          isUnstarted: () => true,
          hasSay: (owner, object) => hasSay(mac, caches.seenIn(object, owner), status?.owners ?? [], caches),
        }),
    }),
  },
  /** Caches stay as they are when etcd may have gone back. */
  "caches listed anew": {
    between: (connections, caches) => {
      const { retryNow } = caches;
      caches.retryNow = () => retryNow.call(caches, false);
      return connections;
    },
  },
  /** What was admitted has no time to show up. */
  "deadline kept": {
    between: (connections) => ({ ...connections, controllerClock: hurried(connections.controllerClock) }),
  },
  /** What was admitted and never shows up is waited for without end. */
  "deadline ends": {
    between: (connections) => ({
      ...connections,
      controllerClock: { ...bare(connections.controllerClock), monotonicMs: () => 0 },
    }),
  },
  /** A request takes any claim that it meets for its own. */
  "owner comparison": {
    between: (connections) => ({
      ...connections,
      claimsOfLedger: {
        ...connections.claimsOfLedger,
        async read(mac, signal) {
          const found = await connections.claimsOfLedger.read(mac, signal);
          return found?.status === undefined ? found : { ...found, status: { ...found.status, owners: [] } };
        },
      },
    }),
  },
  /** Of several creations that are under way the first that comes is taken for the last. */
  "last admission": {
    between: (connections) => ({
      ...connections,
      hasCome: (admission) => connections.hasCome({ ...admission, isAlone: true }),
    }),
  },
  /** Any arrival that the caches remember is taken for what was admitted, also one that came before. */
  "arrived later": {
    between: (connections) => ({
      ...connections,
      hasCome: (admission) => connections.hasCome({ ...admission, resourceVersion: "1" }),
    }),
  },
  /** An admitted start is not noted on the claim: of two at one moment none sees the other. */
  "start noted": {
    between: (connections) => ({
      ...connections,
      claimsOfStarts: { ...connections.claimsOfStarts, update: (claim) => Promise.resolve(claim) },
    }),
  },
  /** Nobody looks whether another holder runs. */
  "running read": {
    between: (connections) => ({ ...connections, isRunning: () => Promise.resolve(false) }),
  },
  /** What is plugged into a running VM is judged when its VM is changed only. */
  "plug-in judged": {
    asks: ({ kind, operation }) => kind.kind !== "VirtualMachineInstance" || operation !== "UPDATE",
  },
  /** A VM that waits no longer to receive a migration is not judged. */
  "receiver judged": {
    asks: ({ kind, oldObject, object }) =>
      kind.kind !== "VirtualMachine" ||
      oldObject === null ||
      object === null ||
      !isReceiver(oldObject as KubeObject) ||
      isReceiver(object as KubeObject),
  },
  /** No claim tells who was admitted as a receiver only. */
  "receiver remembered": {
    between: (connections) => ({
      ...connections,
      claimsOfLedger: {
        ...connections.claimsOfLedger,
        async read(mac, signal) {
          const found = await connections.claimsOfLedger.read(mac, signal);
          if (found?.status === undefined) return found;
          const owners = found.status.owners.map(({ receiver: _, ...owner }) => owner);
          return { ...found, status: { ...found.status, owners } };
        },
      },
    }),
  },
  /** An object that opts out by a label of its own is left alone, whether or not that is allowed. */
  "opt-out allowed": {
    asks: ({ object }) => object === null || !isOptedOut(object as KubeObject),
  },
  /** Only the policy of the one that asks counts. */
  "strictest policy": {
    between: (connections) => ({ ...connections, policyIn: () => undefined }),
  },
  /** Nobody looks whether an object lists an address that has no claim. */
  "listed in caches": {
    between: (connections) => ({ ...connections, objectsListing: () => [] }),
  },
  /** Whatever lists an address is its owner, a pod that the pool does not manage too. */
  "pods without a say": {
    between: (connections) => ({
      ...connections,
      objectsListing: (mac) =>
        connections.objectsListing(mac).map((observed) => ({ ...observed, countsAsOwner: true })),
    }),
  },
  /** Any two networks count as apart. */
  "network comparison": {
    between: (connections) => ({
      ...connections,
      networks: {
        ...connections.networks,
        async of(owners, signal) {
          const domainsOf = await connections.networks.of(owners, signal);
          return (owner) => domainsOf(owner) && ["network of its own"];
        },
      },
    }),
  },
  /** An interface that moves to another network with its address is not judged. */
  "move judged": {
    asks: ({ kind, oldObject, object }) => {
      if (kind.kind !== "VirtualMachine" || oldObject === null || object === null) return true;
      const [before, now] = [oldObject, object].map((each) =>
        macsHeld(each as KubeObject)
          .toSorted()
          .join(),
      );
      return before !== now;
    },
  },
  /** Nobody looks which addresses nodes have. */
  "node addresses kept": {
    between: (connections, caches) => {
      caches.index.setNode = () => {};
      return connections;
    },
  },
  /** Pools say nothing about addresses by hand. */
  "explicit addresses": {
    between: (connections, caches) => {
      const { index } = caches;
      const { poolFor } = index;
      index.poolFor = (labels) => {
        const pool = poolFor.call(index, labels);
        pool?.changePolicy({ ...pool.settings, explicitAddresses: "Anywhere" });
        return pool;
      };
      return connections;
    },
  },
  /** Every namespace is served by the pool `default`. */
  "pool selection": {
    between: (connections) => ({
      ...connections,
      namespaces: {
        async labelsOf(namespace, signal) {
          return (await connections.namespaces.labelsOf(namespace, signal)) && {};
        },
      },
    }),
  },
} as const satisfies Record<string, Seams>;

export type Mutation = keyof typeof MUTATIONS;

function forAllClaims(mutated: (claims: ClaimStore) => ClaimStore): NonNullable<Seams["between"]> {
  return (connections) => ({
    ...connections,
    claimsOfLedger: mutated(connections.claimsOfLedger),
    claimsOfStarts: mutated(connections.claimsOfStarts),
    claimsOfController: mutated(connections.claimsOfController),
  });
}

function current(store: ClaimStore, text: string, signal?: AbortSignal) {
  const mac = parseMac(text);
  return mac === undefined ? Promise.resolve(undefined) : store.read(mac, signal);
}

const versionOf = (claim: Awaited<ReturnType<ClaimStore["read"]>>) => ({
  ...(claim?.metadata.uid === undefined ? {} : { uid: claim.metadata.uid }),
  resourceVersion: claim?.metadata.resourceVersion ?? "0",
});

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
