import { setImmediate as yieldToOthers } from "node:timers/promises";
import {
  describeHostConflict,
  describeStations,
  HOST_CONFLICT_ADVICE,
  MANY_STATIONS,
  STATIONS_ADVICE,
} from "../../../api/host-interfaces.ts";
import { type Mac, parseMac } from "../../../api/mac.ts";
import { type MACClaim, sharedSince } from "../../../api/mac-claim.ts";
import { formatRange } from "../../../api/mac-range.ts";
import { describeSeenElsewhere, SEEN_ELSEWHERE_ADVICE } from "../../../api/seen-elsewhere.ts";
import type { KubeObject } from "../../../kube/client/resource.ts";
import type { Clock } from "../../../kube/clock.ts";
import { statusOf } from "../../claims/claim.ts";
import { meetingOwners } from "../../claims/layer2-domain.ts";
import { OVERDUE_AFTER_MS } from "../../claims/limits.ts";
import type { ObjectReference } from "../../claims/owner.ts";
import type { Caches } from "../../cluster/caches.ts";
import { hostConflictAt } from "../../controllers/host-conflicts.ts";
import { quarantineOf } from "../../controllers/quarantine-timers.ts";
import { affectedBy } from "../../controllers/seen-elsewhere.ts";
import { interfacesLeftBehind } from "../../objects/running.ts";
import { describeFull, MORE_ADDRESSES } from "../../pools/pool-fullness.ts";
import { AnswerCache } from "../rest/ttl-cache.ts";
import type { CollisionView, FindingView } from "../rest/views.ts";
import type { Catalog } from "./catalog.ts";
import { deadlineOf } from "./claims.ts";
import { collisionViews } from "./collisions.ts";
import type { NetworkQueries } from "./networks.ts";
import { instanceBehind } from "./owners.ts";
import { stationsIn } from "./pools.ts";
import { EVERYTHING, hostAddressIn, type Scope, seen, sees } from "./scope.ts";
import { type SharedAddress, SharedAddresses } from "./shared-addresses.ts";
import { UnclaimedAddresses } from "./unclaimed.ts";

const MAX_FINDINGS = 1_000;
/** How much later than its deadline a step is a finding. The leader needs a moment, and a new leader counts the whole time anew. */
const OVERDUE_MS = 60_000;
/** Claims that are checked in one turn of the event loop: about a millisecond. */
const SLICE = 500;
const KEPT_MS = 5_000;
const MAX_KEPT = 100;
/** Of all that is kept, of 1 kB at most: one name in two texts. */
const MAX_KEPT_FINDINGS = 10_000;

export interface Findings {
  readonly findings: readonly FindingView[];
  readonly total: number;
}

/** Whether claims, their owners and the pools agree, as far as the caches of this replica know. */
export class ConsistencyQuery {
  readonly #caches: Caches;
  readonly #catalog: Catalog;
  readonly #networks: Pick<NetworkQueries, "findings">;
  readonly #clock: Clock;
  readonly #kept: AnswerCache<Findings>;

  constructor(catalog: Catalog, networks: Pick<NetworkQueries, "findings">, clock: Clock) {
    this.#caches = catalog.caches;
    this.#catalog = catalog;
    this.#networks = networks;
    this.#clock = clock;
    const limits = { ttlMs: KEPT_MS, max: MAX_KEPT, maxSize: MAX_KEPT_FINDINGS };
    this.#kept = new AnswerCache(clock, limits, ({ findings }) => findings.length);
  }

  /** `hasLeader`: false where it is known that nobody leads. */
  findings(scope: Scope, hasLeader: boolean): Promise<Findings> {
    const key = JSON.stringify([scope.namespace, hasLeader]);
    return this.#kept.get(key, () => this.#find(scope, hasLeader));
  }

  async #find(scope: Scope, hasLeader: boolean): Promise<Findings> {
    const found: FindingView[] = [];
    let total = 0;
    const shared = new SharedAddresses();
    const elsewhere = new Set<string>();
    const note = (finding: FindingView): void => {
      total += 1;
      if (found.length < MAX_FINDINGS) found.push(finding);
    };
    if (scope.namespace === undefined) {
      if (!hasLeader) note(NO_LEADER);
      for (const finding of this.#pools()) note(finding);
    }
    let scanned = 0;
    for (const mac of this.#caches.index.hosts.macs()) {
      const finding = this.#hostConflict(mac, scope);
      if (finding !== undefined) note(finding);
      if (++scanned % SLICE === 0) await yieldToOthers();
    }
    for (const text of this.#catalog.flapping) {
      const finding = this.#seenElsewhere(text, scope);
      if (finding !== undefined) {
        note(finding);
        elsewhere.add(text);
      }
      if (++scanned % SLICE === 0) await yieldToOthers();
    }
    const claims = scope.namespace === undefined ? this.#catalog.claims : this.#catalog.claimsIn(scope.namespace);
    const nowMs = this.#clock.now();
    for (let next: Mac | undefined = 0 as Mac; next !== undefined; ) {
      const from: Mac = next;
      next = undefined;
      scanned = 0;
      claims.scan(from, (claim, mac) => {
        if (scanned++ >= SLICE) next = mac;
        else {
          const found = this.#ofClaim(claim, mac, scope, nowMs);
          if (found !== undefined && "code" in found) note(found);
          else if (found !== undefined) shared.add(found);
        }
        return next === undefined;
      });
      await yieldToOthers();
    }
    for (const collision of collisionViews(this.#catalog, scope).items) {
      // What pods only say of themselves raises no alarm.
      const { mac, isSaid } = collision;
      if (isSaid !== true && !shared.has(mac) && !elsewhere.has(mac)) shared.add(collides(collision));
    }
    for (const finding of shared.findings()) note(finding);
    scanned = 0;
    const unclaimed = new UnclaimedAddresses(this.#catalog, scope);
    for (const { mac, owner } of this.#caches.listed()) {
      if (++scanned % SLICE === 0) await yieldToOthers();
      const finding = unclaimed.see(mac, owner);
      if (finding !== undefined) note(finding);
    }
    for (const finding of unclaimed.onlyListed()) note(finding);
    for (const pod of this.#caches.pods.list()) {
      if (++scanned % SLICE === 0) await yieldToOthers();
      for (const finding of leftBehind(pod, scope, this.#caches)) note(finding);
    }
    for (const finding of await this.#networks.findings(scope)) note(finding);
    return { findings: found, total };
  }

  /** How far the leader says that it is; in one namespace no name of a pool and no number of the cluster. */
  adoption({ namespace }: Scope): { readonly ended: boolean; readonly message: string } {
    const adopted = this.#caches.pools.list().flatMap(({ metadata, status }) => {
      const condition = status?.conditions?.find(({ type }) => type === "Adopted");
      return condition === undefined ? [] : [{ pool: metadata.name ?? "", ...condition }];
    });
    const open = adopted.filter(({ status }) => status !== "True");
    if (open.length > 0 && namespace !== undefined) return { ended: false, message: "Adoption has not ended yet." };
    if (open.length > 0) {
      return { ended: false, message: open.map(({ pool, message }) => `MACPool ${pool}: ${message ?? ""}`).join(" ") };
    }
    if (adopted.length === 0) return { ended: false, message: "No leader has looked yet." };
    return { ended: true, message: "All objects that had addresses before the pool knew them are adopted." };
  }

  #ofClaim(claim: MACClaim, mac: Mac, scope: Scope, nowMs: number): FindingView | SharedAddress | undefined {
    const status = statusOf(claim);
    const at = { mac: claim.spec.mac };
    const dueMs = (text: string | undefined): number => nowMs - (Date.parse(text ?? "") || nowMs);
    if (status.phase === "Quarantined") {
      if (dueMs(status.until) < OVERDUE_MS + quarantineOf(this.#caches.index, claim, mac)) return undefined;
      const message = `${at.mac} should have left its quarantine at ${status.until}.`;
      return { ...at, ...sinceOf(status.until), code: "QUARANTINE_OVERDUE", message, advice: ASK_THE_LEADER };
    }
    // Multus has given it to its pod, which asks for it no more.
    if (!this.#caches.isListed(mac) && status.owners.some((owner) => this.#caches.isAttached(mac, owner)))
      return undefined;
    const { visible } = seen(scope, status.owners);
    const first = visible[0];
    const owner = namedOwner(first);
    if (this.#caches.phaseOf(claim) === "Pending") {
      const deadline = deadlineOf(claim, this.#caches);
      if (dueMs(deadline) < OVERDUE_MS + this.#caches.index.pendingMs) return undefined;
      const message = `The claim of ${at.mac} still waits for its object. Its deadline was ${deadline}.`;
      return { ...at, ...owner, ...sinceOf(deadline), code: "CLAIM_WAITS", message, advice: ASK_THE_LEADER };
    }
    if (first !== undefined && !this.#caches.isListed(mac)) {
      if (dueMs(first.since) < OVERDUE_AFTER_MS) return undefined;
      const message = `${at.mac} is claimed, and no object that this replica knows lists it.`;
      return { ...at, ...owner, code: "CLAIM_WITHOUT_OWNER", message, advice: RELEASED_SOON };
    }
    if (status.owners.length < 2) return undefined;
    const meeting = meetingOwners(status.owners, this.#caches.networks.cached);
    if (meeting.length < 2) return undefined;
    return { ...at, visible, objects: meeting.length, areRunning: false, since: sharedSince(meeting) };
  }

  #hostConflict(mac: Mac, scope: Scope): FindingView | undefined {
    const conflict = hostConflictAt(mac, this.#caches);
    const owner = conflict?.owners.find((one) => sees(scope, one));
    if (conflict === undefined || owner === undefined) return undefined;
    const { mac: text } = conflict.claim.spec;
    const { hostAddress = "" } = hostAddressIn(scope, conflict.hosts);
    return {
      code: "HOST_CONFLICT",
      mac: text,
      ...namedOwner(owner),
      message: describeHostConflict(text, hostAddress),
      advice: HOST_CONFLICT_ADVICE,
    };
  }

  #seenElsewhere(text: string, scope: Scope): FindingView | undefined {
    const mac = parseMac(text);
    const one = mac && affectedBy(mac, this.#caches).find(({ object }) => sees(scope, object));
    if (mac === undefined || one === undefined) return undefined;
    const { object, flap } = one;
    return {
      code: "SEEN_ELSEWHERE",
      mac: text,
      ...namedOwner(object),
      message: `${describeSeenElsewhere(mac, flap)}.`,
      advice: SEEN_ELSEWHERE_ADVICE,
    };
  }

  *#pools(): Generator<FindingView> {
    const pools = this.#caches.index.pools();
    if (pools.length === 0) {
      const advice = "Set spec.kubeMacPool of the NetworkAddonsConfig, or create a MACPool.";
      yield { code: "NO_POOL", message: "There is no MACPool: no object gets an address.", advice };
    }
    for (const pool of pools) {
      const problem = this.#caches.problemOf(pool.name);
      if (problem !== undefined) {
        const advice = "Correct the spec of the MACPool; the last valid ranges stay in force until then.";
        yield { code: "POOL_INVALID", pool: pool.name, message: `MACPool ${pool.name}: ${problem}.`, advice };
      } else if (pool.counts.free === 0) {
        const message = describeFull(pool.name, pool.counts);
        yield { code: "POOL_FULL", pool: pool.name, message, advice: MORE_ADDRESSES };
      }
      for (const range of pool.settings.segments.spans) {
        const stations = stationsIn(range, pool, this.#caches.index.hosts);
        if (stations === undefined || stations.count < MANY_STATIONS) continue;
        const message = `${formatRange(range)}: ${describeStations(stations)}`;
        yield { code: "STATIONS_IN_RANGE", pool: pool.name, message, advice: STATIONS_ADVICE };
      }
    }
    const { ended, message } = this.adoption(EVERYTHING);
    if (!ended && pools.length > 0) {
      const advice =
        "Wait: none of their addresses is given out meanwhile. If it does not go on, look at the leader's log.";
      yield { code: "ADOPTION_RUNS", message, advice };
    }
  }
}

/** Running objects share it, and its claim does not have all of them. */
function collides({ mac, parties, elsewhere }: CollisionView): SharedAddress {
  const since = elsewhere === 0 ? sharedSince(parties) : undefined;
  return { mac, visible: parties, objects: parties.length + elsewhere, areRunning: true, since };
}

/** The advice is about a VM, so only of a pod that has its VMI. */
function leftBehind(pod: KubeObject, scope: Scope, caches: Caches): FindingView[] {
  const { namespace = "", name = "" } = pod.metadata;
  if (!sees(scope, { namespace }) || instanceBehind(pod, caches) === undefined) return [];
  return interfacesLeftBehind(pod).map(({ interface: nic, network }) => ({
    code: "INTERFACE_LEFT_BEHIND",
    owner: { kind: "Pod", namespace, name },
    message: `Interface ${nic} on network ${network} was unplugged, but it is still attached to its network.`,
    advice: DETACH,
  }));
}

function namedOwner(
  owner: Pick<ObjectReference, "kind" | "namespace" | "name"> | undefined,
): Pick<FindingView, "owner"> {
  if (owner?.name === undefined) return {};
  return { owner: { kind: owner.kind, namespace: owner.namespace, name: owner.name } };
}

/** What is overdue is so since its time, not since its claim was made. */
const sinceOf = (time: string | undefined): Pick<FindingView, "since"> => (time === undefined ? {} : { since: time });

const ASK_THE_LEADER = "Look at the log of the replica that leads: it should have ended this.";
const RELEASED_SOON =
  "The leader reads the object and releases the address. If that does not happen in some minutes, look at its log.";
const DETACH =
  "Live-migrate or restart the VM. With multusDynamicNetworks in the NetworkAddonsConfig, unplugging detaches an interface.";
const NO_LEADER: FindingView = {
  code: "NO_LEADER",
  message: "No replica leads: claims are not released, and the status of pools stands still.",
  advice: "Look at the pods of the MAC pool, and whether they may write their Lease.",
};
