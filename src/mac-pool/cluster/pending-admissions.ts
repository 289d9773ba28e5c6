import { type Mac, macOfClaimName } from "../../api/mac.ts";
import type { ClaimOwner, MACClaim, OwnerKind } from "../../api/mac-claim.ts";
import { type LabelRequirement, POD_NAMESPACES, VM_NAMESPACES } from "../../api/mac-pool-scope.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { isOlder } from "../../kube/client/resource-version.ts";
import type { Clock } from "../../kube/clock.ts";
import { type Informer, objectKey } from "../../kube/informer/informer.ts";
import { isAdmission, isNextOf, lastAdmitted, statusOf } from "../claims/claim.ts";
import { mayBe, type ObjectReference } from "../claims/owner.ts";
import { instanceMacs, type ListedMac, machineMacs } from "../objects/listed-macs.ts";
import { isInScope } from "../objects/management.ts";
import type { Informers } from "./informers.ts";

/** Of 1 kB at most: names and a UID. An address whose arrival is forgotten waits to the end. */
const MAX_ARRIVALS = 20_000;

/** Whoever was admitted to an address last. */
export interface Admission {
  readonly mac: Mac;
  readonly owner: ClaimOwner | undefined;
  /** The first version of the claim that names it. */
  readonly resourceVersion: string | undefined;
  /** When this process saw that version, by the monotonic clock: the time in the claim is another machine's. */
  readonly seenMs: number;
  /** Nobody else who was admitted before may still come. */
  readonly isAlone: boolean;
  /** An object listed the address already. It is not the one that was admitted. */
  readonly wasListed: boolean;
}

/** An object that has come to list an address. */
interface Arrival {
  readonly ref: ObjectReference;
  /** It was created with the address; else an update gave it. */
  readonly isCreated: boolean;
  readonly seenMs: number;
  readonly resourceVersion?: string | undefined;
  /** For a pod: the admission after which it was read. */
  readonly of?: Admission;
}

export interface PendingAdmissionsOptions {
  readonly clock: Clock;
  /** How long a request can be under way. */
  readonly pendingMs: () => number;
  readonly isManaged: (kind: OwnerKind, object: KubeObject) => boolean;
  /** Whether an object of a namespace with these labels is left alone where it opts out, as far as the known pools tell. */
  readonly mayOptOut: (namespaceLabels: Readonly<Record<string, string>>) => boolean;
  /** Whether any object in the cache lists the address. */
  readonly isListed: (mac: Mac) => boolean;
}

/**
 * Who was admitted to each address last, and whether that object has been stored since, as the watches have told. It counts
 * also if it is gone again before anybody has looked. Claims, VMs and VMIs are custom resources, which are in one etcd: their
 * versions have one order. Pods may be in an etcd of their own: one has come if a live read finds it after its claim is known.
 */
export class PendingAdmissions {
  readonly #options: PendingAdmissionsOptions;
  readonly #labels: { readonly guests: LabelChanges; readonly pods: LabelChanges };
  /** The last one of each address, the oldest first. */
  readonly #admissions = new Map<Mac, Admission>();
  readonly #arrivals = new Map<Mac, Arrival>();

  constructor({ namespaces, machines, instances, claims, pools }: Informers, options: PendingAdmissionsOptions) {
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
      const own = (object: KubeObject) => macsOf(object).filter(({ owner }) => owner.kind === kind);
      objects.on({
        onRelist: () => this.#arrivals.clear(),
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
    claims.on({
      // What the watch told may be of a history that etcd has lost.
      onRelist: () => this.#arrivals.clear(),
      add: (claim, { created }) => this.#see(claim, undefined, created),
      update: (claim, old) => this.#see(claim, old, false),
      delete: ({ metadata: { name = "" } }) => {
        const mac = macOfClaimName(name);
        if (mac !== undefined) this.#admissions.delete(mac);
      },
    });
  }

  /** Undefined where nobody who was admitted can be under way any more. */
  of(mac: Mac, nowMs = this.#options.clock.monotonicMs()): Admission | undefined {
    return this.leftMs(mac, nowMs) > 0 ? this.#admissions.get(mac) : undefined;
  }

  /** How long a request of whoever was admitted last can still be under way, whether or not its object has come. */
  leftMs(mac: Mac, nowMs: number): number {
    const pendingMs = this.#options.pendingMs();
    for (const [oldest, { seenMs }] of this.#admissions) {
      if (nowMs - seenMs < pendingMs) break;
      this.#admissions.delete(oldest);
    }
    const admission = this.#admissions.get(mac);
    return admission === undefined ? 0 : Math.max(0, admission.seenMs + pendingMs - nowMs);
  }

  /** Whether whoever was admitted has been stored since, and nobody else can come. */
  readonly hasCome = ({ mac, owner, isAlone, ...admission }: Admission): boolean => {
    const arrival = this.#arrivals.get(mac);
    if (arrival === undefined || owner === undefined || !isAlone) return false;
    const { ref, isCreated, seenMs, of } = arrival;
    const isIt = owner.uid === undefined ? isCreated && mayBe(owner, ref) : owner.uid === ref.uid;
    const isPod = ref.kind === "Pod";
    const isLater = of === undefined ? isOlder(admission, arrival) : of.resourceVersion === admission.resourceVersion;
    const pendingMs = this.#options.pendingMs();
    return (
      isIt &&
      isLater &&
      seenMs > this.#options.clock.monotonicMs() - pendingMs &&
      this.#labels[isPod ? "pods" : "guests"].areOlderThan(pendingMs, ref.namespace)
    );
  };

  /** Whether some object has come to list the address lately, whoever was admitted to it. */
  hasArrival(mac: Mac): boolean {
    return this.#arrivals.has(mac);
  }

  /** A pod was read after its admission was known, and has the address. */
  confirm(admission: Admission, ref: ObjectReference): void {
    this.#arrive(admission.mac, { ref, isCreated: true, of: admission });
  }

  #see(claim: MACClaim, old: MACClaim | undefined, isCreated: boolean): void {
    const mac = macOfClaimName(claim.metadata.name ?? "");
    if (mac === undefined) return;
    const before = this.of(mac);
    if (statusOf(claim).phase === "Quarantined") this.#admissions.delete(mac);
    if (!isAdmission(claim, old)) return;
    const nobodyElse = before === undefined || this.#cameBefore(claim, before);
    this.#admissions.delete(mac);
    this.#admissions.set(mac, {
      mac,
      owner: lastAdmitted(claim),
      resourceVersion: claim.metadata.resourceVersion,
      seenMs: this.#options.clock.monotonicMs(),
      isAlone: isCreated || (old !== undefined && isNextOf(claim, old) && nobodyElse),
      wasListed: this.#options.isListed(mac),
    });
  }

  /** An object that came after the next admission may be of that one. A pod has no version to compare. */
  #cameBefore({ metadata }: MACClaim, admission: Admission): boolean {
    const arrival = this.#arrivals.get(admission.mac);
    return arrival !== undefined && isOlder(arrival, metadata) && this.hasCome(admission);
  }

  #note(listed: readonly ListedMac[], { metadata }: KubeObject, isCreated: boolean): void {
    const { resourceVersion, uid } = metadata;
    for (const { mac, owner } of listed) {
      const { kind, namespace, name } = owner;
      this.#arrive(mac, { ref: { kind, namespace, name, uid }, isCreated, resourceVersion });
    }
  }

  #arrive(mac: Mac, arrival: Omit<Arrival, "seenMs">): void {
    const seenMs = this.#options.clock.monotonicMs();
    for (const [oldest, { seenMs: oldMs }] of this.#arrivals) {
      if (oldMs > seenMs - this.#options.pendingMs() && this.#arrivals.size < MAX_ARRIVALS) break;
      this.#arrivals.delete(oldest);
    }
    this.#arrivals.delete(mac);
    this.#arrivals.set(mac, { ...arrival, seenMs });
  }
}

/** Remembers when what the labels of objects of one kind say changed, as far as this process has seen it. */
class LabelChanges {
  readonly #changedMs = new Map<string, number>();
  readonly #clock: Clock;

  /** `saying`: what the labels of an object say, as far as it matters. */
  constructor(informer: Informer<KubeObject>, clock: Clock, saying: (object: KubeObject) => unknown) {
    this.#clock = clock;
    informer.on({
      update: (object, old) => {
        if (saying(object) !== saying(old)) this.#changedMs.set(objectKey(object), clock.monotonicMs());
      },
      delete: (object) => this.#changedMs.delete(objectKey(object)),
    });
  }

  /** Whether they have said the same for so long; true where no change was seen. */
  areOlderThan(ms: number, key: string): boolean {
    return this.#clock.monotonicMs() - (this.#changedMs.get(key) ?? Number.NEGATIVE_INFINITY) >= ms;
  }
}
