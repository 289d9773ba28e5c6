import { type Mac, macOfClaimName } from "../api/mac.ts";
import type { MACClaim } from "../api/mac-claim.ts";
import type { ConflictPolicy } from "../api/mac-pool.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { KubeObject } from "../kube/client/resource.ts";
import type { Clock } from "../kube/clock.ts";
import { at } from "../kube/json-path.ts";
import { type NamespaceLabels, namespaceLabels } from "./admission/namespace-labels.ts";
import { statusOf } from "./claims/claim.ts";
import { apiClaimStore, type ClaimStore } from "./claims/claim-store.ts";
import { isSameObject, type ObjectReference, type ObservedOwner } from "./claims/owner.ts";
import type { Caches } from "./cluster/caches.ts";
import { readLiveOwners } from "./cluster/live-owners.ts";
import type { LiveReads } from "./cluster/live-reads.ts";
import type { Networks } from "./cluster/network-domains.ts";
import type { Admission } from "./cluster/pending-admissions.ts";
import { isRunning, type RunningQuery, readObject } from "./cluster/running-owner.ts";
import { hasSay } from "./cluster/standing.ts";
import { isReceiver } from "./objects/guest-changes.ts";
import { KINDS } from "./objects/kinds.ts";
import { type AttachedMac, attachedMacs, instanceOwner, machineMacs, referenceOf } from "./objects/listed-macs.ts";
import { isFinished } from "./objects/pod-networks.ts";

/** How the parts of a replica reach the cluster: each of these is a guard, without which duplicates or leaks come about. */
export interface Connections {
  readonly claimsOfLedger: ClaimStore;
  readonly claimsOfStarts: ClaimStore;
  readonly claimsOfController: ClaimStore;
  readonly controllerClock: Clock;
  /** Which of the objects have the address of a claim now, by live reads. */
  readonly liveOwners: (
    reads: LiveReads,
    mac: Mac,
    claim: MACClaim,
    refs: readonly ObjectReference[],
  ) => Promise<readonly ObservedOwner[]>;
  /** Whether what was admitted has been stored since, and may be gone. */
  readonly hasCome: (admission: Admission) => boolean;
  /** Whether the owner of an address runs now, by a live read. */
  readonly isRunning: (owner: ObjectReference, query: RunningQuery) => Promise<boolean>;
  /** Addresses that a VM lists, by a live read; undefined when there is no such VM. */
  readonly macsOfMachine: (vm: ObjectReference, signal: AbortSignal) => Promise<readonly AttachedMac[] | undefined>;
  /** Whether a VM waits to receive a live migration, by a live read. */
  readonly isReceiver: (vm: ObjectReference, signal: AbortSignal) => Promise<boolean>;
  /** Whether it has received one, by a live read. */
  readonly hasReceived: (vm: ObjectReference, signal: AbortSignal) => Promise<boolean>;
  readonly namespaces: NamespaceLabels;
  /** Policy of the pool that serves a namespace. */
  readonly policyIn: (namespace: string) => ConflictPolicy | undefined;
  /** Objects in the caches that list the address, whatever the claims say. */
  readonly objectsListing: (mac: Mac) => readonly ObservedOwner[];
  /** Which networks can't meet. */
  readonly networks: Networks;
  /** Addresses that the interface of a VM has, or may get by an update that is under way. */
  readonly addressesOfInterface: (vm: ObjectReference, interfaceName: string) => readonly Mac[];
}

export function connect(
  { client, leaderClient }: { readonly client: KubeClient; readonly leaderClient: KubeClient },
  caches: Caches,
  clock: Clock,
): Connections {
  const claims = apiClaimStore(client);
  return {
    claimsOfLedger: claims,
    claimsOfStarts: claims,
    claimsOfController: apiClaimStore(leaderClient),
    controllerClock: clock,
    liveOwners: (reads, mac, claim, refs) =>
      readLiveOwners(reads, mac, refs, {
        isUnstarted: (ref) => caches.unstarted.has(ref, claim, mac),
        hasSay: async (owner, object) => {
          const seen = caches.seenIn(object, owner);
          const managed = seen.managed || (owner.kind === "Pod" && (await isManagedNow(reads, object, caches)));
          return hasSay(mac, { ...seen, managed }, statusOf(claim).owners, caches);
        },
      }),
    hasCome: caches.admissions.hasCome,
    isRunning: (owner, query) => isRunning(client, owner, query),
    macsOfMachine: async (vm, signal) => {
      const machine = await readMachine(client, vm, signal);
      return machine && attachedMacs(machine);
    },
    isReceiver: async (vm, signal) => isReceiver(await readMachine(client, vm, signal)),
    hasReceived: (vm, signal) => hasReceived(client, vm, signal),
    namespaces: namespaceLabels(client, caches.namespaces),
    policyIn: caches.policyIn,
    objectsListing: caches.objectsListing,
    networks: caches.networks,
    addressesOfInterface: (vm, interfaceName) => addressesOfInterface(caches, vm, interfaceName),
  };
}

/** A cache that lags must not free what a pod of a namespace has that has opted in meanwhile. */
async function isManagedNow(reads: LiveReads, pod: KubeObject, caches: Caches): Promise<boolean> {
  const namespace = await reads.get(KINDS.namespaces, { name: pod.metadata.namespace ?? "" });
  return namespace === undefined || caches.isManagedPod(pod, namespace.metadata.labels ?? {});
}

/** Undefined when there is no such VM. */
async function readMachine(
  client: KubeClient,
  vm: ObjectReference,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const machine = await readObject(client, KINDS.virtualMachines, vm, signal);
  return machine && isSameObject(referenceOf("VirtualMachine", machine), vm) ? machine : undefined;
}

/** Whether the VM has received another one: virt-controller says so in its instance, which tenants can't write. */
async function hasReceived(client: KubeClient, vm: ObjectReference, signal: AbortSignal): Promise<boolean> {
  const instance = await readObject(client, KINDS.instances, vm, signal);
  if (instance === undefined || isFinished(instance) || !isSameObject(instanceOwner(instance), vm)) return false;
  const migration = at(instance, "status", "migrationState");
  return at(migration, "completed") === true && at(migration, "failed") !== true;
}

/** Addresses that an interface of a VM has, and those that one of a VM or a pod may get by an update that is under way. */
function addressesOfInterface(caches: Caches, vm: ObjectReference, interfaceName: string): readonly Mac[] {
  const isKnown = vm.kind === "VirtualMachine" && caches.has(vm);
  const machine = isKnown ? caches.machines.get(`${vm.namespace}/${vm.name}`) : undefined;
  const listed = machine === undefined ? [] : machineMacs(machine);
  const updated = caches
    .updatedFor(vm.uid ?? "")
    .filter(({ status }) =>
      status?.owners.some(({ uid, ...owner }) => uid === vm.uid && owner.interface === interfaceName),
    );
  return [
    ...listed.flatMap(({ mac, owner }) => (owner.interface === interfaceName ? [mac] : [])),
    ...updated.flatMap(({ metadata: { name = "" } }) => macOfClaimName(name) ?? []),
  ];
}
