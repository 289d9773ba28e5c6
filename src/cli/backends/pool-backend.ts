import { type Mac, parseMac } from "../../api/mac.ts";
import type { OwnerKind } from "../../api/mac-claim.ts";
import type {
  BridgeView,
  CheckView,
  ClaimView,
  CollisionPartyView,
  CollisionView,
  ConsistencyView,
  DenialView,
  FindingView,
  ListView,
  MapView,
  NamespaceView,
  NetworkView,
  OwnerHistoryView,
  OwnerView,
  PoolView,
  WatchEventView,
} from "../../mac-pool/inspection/rest/views.ts";
import { Segments } from "../../mac-pool/pools/segments.ts";

/**
 * The questions of the commands. There are two backends: the pool's REST interface (`rest-backend.ts`), and MACPool and
 * MACClaim objects (`object-backend.ts`), which know less. Both answer with the same views.
 */
export interface PoolBackend {
  /** Whether it knows what was refused, and interfaces that have no claim. */
  readonly knowsRefusals: boolean;
  pools(): Promise<readonly PoolView[]>;
  /**
   * Sorted by address; of all namespaces where none is given. `search`: at least those with this part of an address, or of an
   * owner's name or namespace.
   */
  claims(namespace?: string, search?: string): Promise<readonly ListedClaim[]>;
  /** `namespace`: where the user may read, if not everywhere. */
  claim(mac: Mac, namespace?: string): Promise<KnownClaim | undefined>;
  /** An address without a claim that the user may see. */
  unclaimed(mac: Mac, namespace: string): Promise<UnclaimedAddress>;
  map(pool: string, section: MapSection): Promise<MapView>;
  owner(owner: OwnerRef): Promise<KnownHistory | undefined>;
  collisions(namespace?: string): Promise<ListView<CollisionView>>;
  denials(namespace?: string): Promise<ListView<DenialView>>;
  consistency(namespace?: string): Promise<KnownConsistency>;
  namespaces(namespace?: string): Promise<readonly NamespaceView[]>;
  /** `search`: a part of a name or of the bridge. */
  networks(namespace?: string, search?: string): Promise<readonly NetworkView[]>;
  network(namespace: string, name: string): Promise<NetworkView>;
  bridges(namespace?: string): Promise<readonly BridgeView[]>;
  check(mac: Mac, namespace: string): Promise<CheckView>;
  /** First what there is, as ADDED, then what changes; ends with the signal. */
  watch(namespace: string | undefined, signal: AbortSignal): AsyncIterable<WatchEventView<ListedClaim>>;
}

export interface MapSection {
  readonly cells: number;
  readonly from?: Mac | undefined;
  readonly to?: Mac | undefined;
}

export interface OwnerRef {
  readonly kind: OwnerKind;
  readonly namespace: string;
  readonly name: string;
}

/** Allocated means Pending or Bound. Only the service knows whether the object has come. */
export type KnownPhase = ClaimView["phase"] | "Allocated";

export interface ListedClaim extends Omit<ClaimView, "phase"> {
  readonly phase: KnownPhase;
}

/** The views of REST. A field is null where the user may not read the object that has its value. */

export interface KnownClaim extends Omit<ListedClaim, "hostAddress" | "owners"> {
  readonly hostAddress?: string | null;
  readonly owners: readonly KnownOwner[];
}

export interface KnownOwner extends Omit<OwnerView, "node"> {
  readonly node?: string | null;
}

export interface KnownHistory extends Omit<OwnerHistoryView, "exists" | "node" | "interfaces"> {
  readonly exists: boolean | null;
  readonly node?: string | null;
  /** Null where the user may not see whether a VM or VMI has its addresses in its place. */
  readonly holder?: null;
  readonly interfaces: readonly KnownInterface[];
}

export interface KnownInterface extends Omit<OwnerHistoryView["interfaces"][number], "hostAddress" | "phase"> {
  readonly phase?: KnownPhase;
  readonly hostAddress?: string | null;
}

/** The view of REST. That REST is unavailable is one more finding. */
export interface KnownConsistency extends Omit<ConsistencyView, "findings"> {
  readonly findings: readonly Finding[];
}

export interface Finding extends Omit<FindingView, "code"> {
  readonly code: FindingView["code"] | "SERVICE_AWAY";
}

export interface UnclaimedAddress {
  /** Whether a range of a pool has it. */
  readonly inRange: boolean;
  /** That pool, where the user may read it. */
  readonly pool: string | undefined;
  readonly holders: readonly OwnerView[];
  /** Holders in namespaces that the user may not see. */
  readonly elsewhere: number;
  /** Objects that only list it. */
  readonly listedBy?: NonNullable<CheckView["listedBy"]>;
  /** Pods that only say that they have it. */
  readonly sayingPods?: CollisionPartyView[];
  /** VMIs that run with it, and that the pool does not manage. */
  readonly unmanagedInstances?: CollisionPartyView[];
  /** The interfaces of nodes that have it, in words. */
  readonly hosts: string | undefined;
  readonly knowsHosts: boolean;
}

const FOLLOW_THE_REASON = "Do what the reason says, and ask again.";

/** The pool's REST interface can't be asked; `message` says why, as the end of a sentence. */
export class ServiceUnavailable extends Error {
  override readonly name = "ServiceUnavailable";
  /** What to do, in sentences. */
  readonly advice: string;

  constructor(message: string, advice = FOLLOW_THE_REASON) {
    super(message);
    this.advice = advice;
  }
}

/** The user may not use the proxy of the pool's Service, which a Role in the pool's namespace allows. */
export class RoleMissing extends ServiceUnavailable {}

/** Only the pool's REST interface knows the answer; `message` says what: `the denials`. */
export class NeedsService extends Error {
  override readonly name = "NeedsService";
}

/** The pool that has the address in a range. */
export function poolWith(pools: readonly PoolView[], mac: Mac): PoolView | undefined {
  return pools.find(({ ranges }) =>
    ranges.some(({ first, last }) => {
      const [start, end] = [parseMac(first), parseMac(last)];
      return start !== undefined && end !== undefined && new Segments([{ start, end }]).has(mac);
    }),
  );
}

export function noPool(name: string, names: readonly string[]): string {
  const others = names.length === 0 ? "there is none at all" : `choose one of ${names.join(", ")}`;
  return `there is no MACPool ${JSON.stringify(name)}: ${others}`;
}
