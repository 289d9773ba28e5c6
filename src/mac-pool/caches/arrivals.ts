import type { Mac } from "../../api/mac.ts";
import type { MACClaim, OwnerKind } from "../../api/mac-claim.ts";
import { type LabelRequirement, POD_NAMESPACES, VM_NAMESPACES } from "../../api/mac-pool-scope.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { isOlder } from "../../kube/client/resource-version.ts";
import type { Clock } from "../../kube/clock.ts";
import { statusOf } from "../core/claim.ts";
import { mayBe, type Party } from "../core/party.ts";
import { instanceMacs, type ListedMac, machineMacs } from "../objects/holders.ts";
import { isInScope } from "../objects/management.ts";
import type { Informers } from "./informers.ts";
import { LabelChanges } from "./label-changes.ts";

/** Of 1 kB at most: names and a UID. An address whose arrival is forgotten waits until nothing more can come. */
const MAX_ARRIVALS = 20_000;

/** An object that has come to list an address. */
interface Arrival {
  readonly party: Party;
  /** It was created with the address; else an update gave it. */
  readonly isCreated: boolean;
  readonly resourceVersion: string | undefined;
  readonly seenMs: number;
  /** The version of the claim after whose reading the object was read. */
  readonly claimVersion?: string | undefined;
}

export interface ArrivalsOptions {
  readonly clock: Clock;
  /** How long a request can be under way. */
  readonly pendingMs: () => number;
  readonly isManaged: (kind: OwnerKind, object: KubeObject) => boolean;
  /** Whether an object of a namespace with these labels is left alone where it opts out, as far as the known pools tell. */
  readonly mayOptOut: (namespaceLabels: Readonly<Record<string, string>>) => boolean;
}

/**
 * Which VMs and VMIs have come to list an address a short while ago, as the watches have told. One that is gone before
 * anybody has looked was there all the same, and what was admitted has been stored. Claims, VMs and VMIs are all custom
 * resources, whose versions have one order. Pods may be in an etcd of their own: one has come if a live read finds it after its
 * claim is known.
 */
export class Arrivals {
  readonly #options: ArrivalsOptions;
  readonly #labels: { readonly guests: LabelChanges; readonly pods: LabelChanges };
  /** The last one of each address, the oldest first. */
  readonly #last = new Map<Mac, Arrival>();

  constructor({ namespaces, machines, instances, claims, pools }: Informers, options: ArrivalsOptions) {
    this.#options = options;
    // A pool may say what an opt-out means: nobody knows which labels decide that before all of them are listed.
    const about = (requirement: LabelRequirement): LabelChanges =>
      new LabelChanges(namespaces, options.clock, ({ metadata: { labels = {} } }) =>
        pools.hasSynced ? `${isInScope(labels, requirement)} ${options.mayOptOut(labels)}` : JSON.stringify(labels),
      );
    this.#labels = { guests: about(VM_NAMESPACES), pods: about(POD_NAMESPACES) };
    const follow = (
      kind: OwnerKind,
      objects: Informers["machines"],
      macsOf: (object: KubeObject) => readonly ListedMac[],
    ): void => {
      const own = (object: KubeObject) => macsOf(object).filter(({ holder }) => holder.kind === kind);
      objects.on({
        listed: () => this.#last.clear(),
        add: (object, { created }) => {
          if (created && pools.hasSynced && options.isManaged(kind, object)) this.#note(own(object), object, true);
        },
        update: (object, old) => {
          const before = new Set(own(old).map(({ mac }) => mac));
          const gained = own(object).filter(({ mac }) => !before.has(mac));
          if (gained.length > 0) this.#note(gained, object, false);
        },
      });
    };
    follow("VirtualMachine", machines, machineMacs);
    follow("VirtualMachineInstance", instances, instanceMacs);
    // What the watch told may be of a history that etcd has lost.
    claims.on({ listed: () => this.#last.clear() });
  }

  /**
   * Whether what the claim was made for has been stored since, so that nothing more can come of it. Only where the claim was
   * never written again: it may be another creation of the same name that has come, and not the last.
   */
  readonly hasCome = (claim: MACClaim, mac: Mac): boolean => {
    const arrival = this.#last.get(mac);
    const { owners } = statusOf(claim);
    const [owner] = owners;
    if (arrival === undefined || owner === undefined || owners.length > 1 || claim.metadata.generation !== 1)
      return false;
    const { party, isCreated, seenMs, claimVersion } = arrival;
    const isIt = owner.uid === undefined ? isCreated && mayBe(owner, party) : owner.uid === party.uid;
    const pendingMs = this.#options.pendingMs();
    const isLater =
      party.kind === "Pod" ? claimVersion === claim.metadata.resourceVersion : isOlder(claim.metadata, arrival);
    return (
      isIt &&
      isLater &&
      seenMs > this.#options.clock.monotonicMs() - pendingMs &&
      this.#labels[party.kind === "Pod" ? "pods" : "guests"].areOlderThan(pendingMs, party.namespace)
    );
  };

  /** A pod was read after the claim, and has the address. */
  confirm({ metadata: { resourceVersion } }: MACClaim, mac: Mac, party: Party): void {
    this.#set(mac, { party, isCreated: true, resourceVersion: undefined, claimVersion: resourceVersion });
  }

  #note(listed: readonly ListedMac[], { metadata }: KubeObject, isCreated: boolean): void {
    const { resourceVersion, uid } = metadata;
    for (const { mac, holder } of listed) {
      const { kind, namespace, name } = holder;
      this.#set(mac, { party: { kind, namespace, name, uid }, isCreated, resourceVersion });
    }
  }

  #set(mac: Mac, arrival: Omit<Arrival, "seenMs">): void {
    const seenMs = this.#options.clock.monotonicMs();
    for (const [oldest, { seenMs: oldMs }] of this.#last) {
      if (oldMs > seenMs - this.#options.pendingMs() && this.#last.size < MAX_ARRIVALS) break;
      this.#last.delete(oldest);
    }
    this.#last.delete(mac);
    this.#last.set(mac, { ...arrival, seenMs });
  }
}
