import type { Mac } from "../../api/mac.ts";
import type { OwnerKind } from "../../api/mac-claim.ts";
import type {
  CheckView,
  ClaimView,
  CollisionView,
  ConsistencyView,
  DenialView,
  ListView,
  MapView,
  NamespaceView,
  OwnerStoryView,
  PoolView,
  WatchEventView,
} from "../../mac-pool/inspection/views.ts";

/**
 * The questions of the commands. There are two doors: the pool's REST interface (`rest-door.ts`), and MACPool and MACClaim
 * objects (`object-door.ts`), which know less. Both answer with the same views.
 */
export interface Door {
  pools(): Promise<readonly PoolView[]>;
  /**
   * Sorted by address; of all namespaces where none is given. `search`: at least those with this part of an address, or of an
   * owner's name or namespace.
   */
  claims(namespace?: string, search?: string): Promise<readonly ClaimView[]>;
  claim(mac: Mac): Promise<ClaimView | undefined>;
  map(pool: string, section: MapSection): Promise<MapView>;
  owner(owner: OwnerRef): Promise<OwnerStoryView | undefined>;
  collisions(namespace?: string): Promise<ListView<CollisionView>>;
  denials(namespace?: string): Promise<ListView<DenialView>>;
  consistency(): Promise<ConsistencyView>;
  namespaces(): Promise<readonly NamespaceView[]>;
  check(mac: Mac, namespace: string): Promise<CheckView>;
  /** First what there is, as ADDED, then what changes; ends with the signal. */
  watch(namespace: string | undefined, signal: AbortSignal): AsyncIterable<WatchEventView<ClaimView>>;
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

/** The pool's REST interface can't be asked; `message` says why, as the end of a sentence. */
export class ServiceAway extends Error {
  override readonly name = "ServiceAway";
}

/** Only the pool's REST interface knows the answer; `message` says what: `denials are`. */
export class OnlyService extends Error {
  override readonly name = "OnlyService";
}
