import { addressesIn, describeHosts, type HostInterface } from "../../api/host-interfaces.ts";
import { claimName, type Mac, macOfClaimName } from "../../api/mac.ts";
import type { MACClaim } from "../../api/mac-claim.ts";
import type { NodeMACs } from "../../api/node-macs.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import { statusOf } from "../claims/claim.ts";
import { heldByHost } from "../claims/host-refusals.ts";
import { describeObject, mayBe, type ObservedOwner } from "../claims/owner.ts";
import type { Caches } from "../cluster/caches.ts";
import { regardingOf } from "../objects/kinds.ts";
import { distinctOwnersSeen, instanceMacs, type ListedMac, machineMacs, podMacs } from "../objects/listed-macs.ts";
import { aborted, onEach, onManagementChange, whileFollowing } from "./following.ts";

export const HOST_CONFLICT_EVENT = "MACHostConflict";

/**
 * Reports objects that have an address which a node has too: they had it first, or their pool's policy let them have it.
 * Nothing is taken away. Run by the elected leader; the next leader reports anew.
 */
export class HostConflicts {
  readonly #caches: Caches;
  readonly #events: EventRecorder;
  /** Address -> who has it, as it was reported last. */
  readonly #reported = new Map<Mac, string>();

  constructor({ caches, events }: { readonly caches: Caches; readonly events: EventRecorder }) {
    this.#caches = caches;
    this.#events = events;
  }

  /** Runs until the signal aborts. Can be run once. */
  async run(signal: AbortSignal): Promise<void> {
    const { claims, machines, instances, nodeMacs, pods, pools, index } = this.#caches;
    const claimChanged = ({ metadata: { name = "" } }: MACClaim): void => {
      const mac = macOfClaimName(name);
      if (mac !== undefined) this.#check(mac);
    };
    const reportChanged = (report: NodeMACs): void => {
      for (const mac of addressesIn(report).keys()) this.#check(mac);
    };
    const policiesChanged = (): void => {
      for (const mac of index.hosts.macs()) this.#check(mac);
    };
    const stops = [
      pools.on({
        add: policiesChanged,
        update: (pool, old) => {
          if (pool.metadata.generation !== old.metadata.generation) policiesChanged();
        },
        delete: policiesChanged,
      }),
      onManagementChange(this.#caches, policiesChanged),
      claims.on({ add: claimChanged, update: claimChanged, delete: claimChanged }),
      this.#follow(machines, machineMacs),
      this.#follow(instances, instanceMacs),
      this.#follow(pods, (pod) => podMacs(pod)),
      onEach(nodeMacs, reportChanged),
    ];
    await whileFollowing(this.#caches, signal, stops, () => aborted(signal));
  }

  /** An owner may come long after its claim, and after other owners. */
  #follow(informer: Informer<KubeObject>, macsOf: (object: KubeObject) => readonly ListedMac[]): () => void {
    const changed = (object: KubeObject): void => {
      for (const { mac } of macsOf(object)) if (this.#caches.index.hosts.at(mac).length > 0) this.#check(mac);
    };
    return informer.on({ add: changed, update: changed });
  }

  #check(mac: Mac): void {
    const conflict = hostConflictAt(mac, this.#caches);
    if (conflict === undefined) {
      this.#reported.delete(mac);
      return;
    }
    const { claim, owners, hosts } = conflict;
    const reported = [describeHosts(hosts), ...owners.map(describeObject)].join("\n");
    if (this.#reported.get(mac) === reported) return;
    this.#reported.set(mac, reported);
    for (const owner of owners) {
      const message = heldByHost(claim.spec.mac, owner.interface, hosts);
      this.#events.event(regardingOf(owner), "Warning", HOST_CONFLICT_EVENT, message);
    }
  }
}

export interface HostConflict {
  readonly claim: MACClaim;
  /** At least one. */
  readonly owners: readonly ObservedOwner[];
  readonly hosts: readonly HostInterface[];
}

/** Objects that have an address which a node has too, where the policies of their pools have that reported. */
export function hostConflictAt(
  mac: Mac,
  caches: Pick<Caches, "claims" | "index" | "labelsOf" | "observedOwners">,
): HostConflict | undefined {
  const { claims, index } = caches;
  const hosts = index.hosts.at(mac);
  const claim = hosts.length === 0 ? undefined : claims.get(claimName(mac));
  if (claim === undefined) return undefined;
  const isReported = ({ namespace }: ObservedOwner): boolean =>
    index.poolFor(caches.labelsOf(namespace))?.settings.hostAddressPolicy !== "Off";
  const owners = distinctOwnersSeen(caches.observedOwners(mac)).filter(
    (observed) => statusOf(claim).owners.some((owner) => mayBe(owner, observed)) && isReported(observed),
  );
  return owners.length === 0 ? undefined : { claim, owners, hosts };
}
