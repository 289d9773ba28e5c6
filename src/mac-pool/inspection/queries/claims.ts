import { type Mac, macOfClaimName } from "../../../api/mac.ts";
import { type ClaimOwner, type MACClaim, originFor, type ShownPhase } from "../../../api/mac-claim.ts";
import { formatRange } from "../../../api/mac-range.ts";
import { isStartingPhase } from "../../../api/phase.ts";
import type { KubeObject } from "../../../kube/client/resource.ts";
import { textAt } from "../../../kube/json-path.ts";
import { lastAdmitted, statusOf } from "../../claims/claim.ts";
import type { Caches } from "../../cluster/caches.ts";
import { isFinished } from "../../objects/pod-networks.ts";
import type { ClaimView, OwnerView } from "../rest/views.ts";
import type { Catalog } from "./catalog.ts";
import { type ClaimFilter, type ClaimTest, claimTest, isSeenWhole, seenOrigin, textTest } from "./claim-filter.ts";
import type { NetworkQueries } from "./networks.ts";
import { type Scope, seen } from "./scope.ts";

/** Claims that are read in one turn of the event loop. */
const PIECE = 500;

export interface Page {
  readonly items: Iterable<ClaimView>;
  /** Of the last item, when there are more. */
  readonly last: Mac | undefined;
  readonly total: number;
}

/** The claims, in the order of their addresses. */
export class ClaimQueries {
  readonly #catalog: Catalog;
  readonly #caches: Caches;
  readonly #networks: Pick<NetworkQueries, "segmentOf">;

  constructor(catalog: Catalog, networks: Pick<NetworkQueries, "segmentOf">) {
    this.#catalog = catalog;
    this.#caches = catalog.caches;
    this.#networks = networks;
  }

  /** `after`: the last address of the page before; -1 for the first page. */
  list(filter: ClaimFilter, scope: Scope, { limit, after }: { limit: number; after: Mac | -1 }): Page {
    const namespace = scope.namespace ?? filter.namespace;
    const order = namespace === undefined ? this.#catalog.claims : this.#catalog.claimsIn(namespace);
    const items: MACClaim[] = [];
    let last: Mac | undefined;
    let hasMore = false;
    const take = (claim: MACClaim, mac: Mac): boolean => {
      hasMore = items.length === limit;
      if (hasMore) return false;
      items.push(claim);
      last = mac;
      return true;
    };
    let total = order.size;
    const { namespace: _, ...others } = filter;
    const { phase, ...more } = others;
    const isOnlyPhase = Object.values(more).every((value) => value === undefined);
    if (isOnlyPhase && phase === undefined) {
      order.scan((after + 1) as Mac, take);
    } else if (isOnlyPhase && phase !== undefined && namespace === undefined) {
      total = this.#catalog.inPhase(phase);
      order.scan((after + 1) as Mac, (claim, mac) => this.#caches.phaseOf(claim) !== phase || take(claim, mac));
    } else {
      const test = this.test(others, scope);
      total = 0;
      const visit = (claim: MACClaim, mac: Mac): boolean => {
        if (!test(claim)) return true;
        total += 1;
        if (mac > after && !hasMore) take(claim, mac);
        return true;
      };
      order.scan(0 as Mac, visit, textTest(others));
    }
    return {
      items: items.values().map((claim) => this.view(claim, scope)),
      last: hasMore ? last : undefined,
      total,
    };
  }

  /** All that match, in pieces that are read when they are asked for. */
  *pieces({ namespace, ...others }: ClaimFilter, scope: Scope): Generator<readonly ClaimView[]> {
    const only = scope.namespace ?? namespace;
    const test = this.test(others, scope);
    for (let next: Mac | undefined = 0 as Mac; next !== undefined; ) {
      const order = only === undefined ? this.#catalog.claims : this.#catalog.claimsIn(only);
      const found: MACClaim[] = [];
      let scanned = 0;
      const from: Mac = next;
      next = undefined;
      order.scan(from, (claim, mac) => {
        if (scanned++ >= PIECE) next = mac;
        else if (test(claim)) found.push(claim);
        return next === undefined;
      });
      yield found.map((claim) => this.view(claim, scope));
    }
  }

  /** Whether a claim matches. */
  test(filter: ClaimFilter, scope: Scope): ClaimTest {
    return claimTest(filter, scope, this.#caches);
  }

  /** `phase`: where it is another one than now. */
  view(claim: MACClaim, scope: Scope, phase: ShownPhase = this.#caches.phaseOf(claim)): ClaimView {
    const status = statusOf(claim);
    const name = claim.metadata.name ?? "";
    const { resourceVersion } = claim.metadata;
    const found = rangeAt(macOfClaimName(name), this.#caches);
    const { visible, elsewhere } = seen(scope, status.owners);
    const isWhole = isSeenWhole(claim, scope);
    const origin = seenOrigin(claim, scope);
    const created = isWhole ? claim.metadata.creationTimestamp : visible.map(({ since }) => since).sort()[0];
    return {
      name,
      mac: claim.spec.mac,
      ...(claim.spec.pool === undefined || !isWhole ? {} : { pool: claim.spec.pool }),
      origin,
      phase,
      owners: visible.map((owner) => {
        const own = originFor(claim, owner);
        return { ...this.ownerView(owner, scope), ...(own === origin ? {} : { origin: own }) };
      }),
      elsewhere,
      inRange: found !== undefined,
      ...(isWhole ? rangeView(found, claim, scope) : {}),
      ...(created === undefined ? {} : { created }),
      ...(phase === "Pending" ? { deadline: deadlineOf(claim, this.#caches) } : {}),
      ...(phase === "Quarantined" && status.until !== undefined ? { until: status.until } : {}),
      ...(resourceVersion === undefined ? {} : { revision: resourceVersion }),
    };
  }

  ownerView(owner: ClaimOwner, scope: Scope): OwnerView {
    return { ...owner, ...this.placeOf(owner), ...this.#networks.segmentOf(owner, scope) };
  }

  /** Where the owner runs, if it does. */
  placeOf(owner: Pick<ClaimOwner, "kind" | "namespace" | "name">): Pick<OwnerView, "node" | "pod" | "notRunningYet"> {
    if (owner.name === undefined) return {};
    const { pods, instances } = this.#caches;
    const key = `${owner.namespace}/${owner.name}`;
    const object = (owner.kind === "Pod" ? pods : instances).get(key);
    const pod = owner.kind === "Pod" ? object : this.#launcher(object);
    const node = textAt(pod, "spec", "nodeName");
    if (pod === undefined || node === "") return {};
    const place = { node, pod: pod.metadata.name ?? "" };
    return isStartingPhase(textAt(object, "status", "phase")) ? { ...place, notRunningYet: true } : place;
  }

  /** The live launcher on the node where the VMI is; during a migration there are two. */
  #launcher(instance: KubeObject | undefined): KubeObject | undefined {
    if (instance === undefined) return undefined;
    const node = textAt(instance, "status", "nodeName");
    return this.#caches
      .podsOfInstance(instance)
      .find((pod) => !isFinished(pod) && (node === "" || textAt(pod, "spec", "nodeName") === node));
  }
}

/** How long a claim waits for its object, by the clock of the replica that admitted it. */
export function deadlineOf(claim: MACClaim, { index }: Pick<Caches, "index">): string {
  const sinceMs =
    Date.parse(lastAdmitted(claim)?.since ?? "") || Date.parse(claim.metadata.creationTimestamp ?? "") || 0;
  return new Date(sinceMs + index.pendingMs).toISOString();
}

interface RangeOfPool {
  readonly pool: string;
  /** As first-last. */
  readonly range: string;
}

/** The range that has the address, and its pool. */
export function rangeAt(mac: Mac | undefined, { index }: Pick<Caches, "index">): RangeOfPool | undefined {
  if (mac === undefined) return undefined;
  const pool = index.pools().find((each) => each.has(mac));
  const range = pool?.settings.segments.spanOf(mac);
  return range && pool && { pool: pool.name, range: formatRange(range) };
}

/** Pools are of the whole cluster: who sees one namespace is not told of the range of another one. */
function rangeView(
  found: RangeOfPool | undefined,
  { spec }: MACClaim,
  scope: Scope,
): Pick<ClaimView, "range" | "rangePool"> {
  if (found === undefined) return {};
  if (found.pool === spec.pool) return { range: found.range };
  return scope.namespace === undefined ? { range: found.range, rangePool: found.pool } : {};
}
