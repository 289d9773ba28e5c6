import { formatMac, macOfClaimName, parseMac } from "../../api/mac.ts";
import type { ClaimOwner, ClaimPhase, MACClaim } from "../../api/mac-claim.ts";
import { formatRange } from "../../api/mac-range.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { textAt } from "../../kube/json-path.ts";
import type { Caches } from "../caches/caches.ts";
import { countsOf } from "../caches/pool-counts.ts";
import { statusOf } from "../core/claim.ts";
import type { Pool } from "../core/pool.ts";
import { isFinished } from "../objects/pod-networks.ts";
import type { ClaimView, ListView, OwnerView, PoolView } from "./views.ts";

/** The questions that inspection answers, from one replica's caches. */

export interface ClaimFilter {
  /** An address in any notation, or a part of one in hex digits. */
  readonly mac?: string | undefined;
  /** `name`, `namespace/name` or `kind/namespace/name`. */
  readonly owner?: string | undefined;
  readonly namespace?: string | undefined;
  readonly phase?: ClaimPhase | undefined;
  readonly pool?: string | undefined;
}

export interface PageRequest {
  readonly limit: number;
  /** Name of the last claim of the page before. */
  readonly after?: string | undefined;
}

export class Queries {
  readonly #caches: Caches;

  constructor(caches: Caches) {
    this.#caches = caches;
  }

  pools(): ListView<PoolView> {
    const items = this.#caches.index.pools().map((pool) => this.#poolView(pool));
    return { items, total: items.length };
  }

  pool(name: string): PoolView | undefined {
    const pool = this.#caches.index.pool(name);
    return pool === undefined ? undefined : this.#poolView(pool);
  }

  /** In the order of the addresses. */
  claims(filter: ClaimFilter, page: PageRequest): ListView<ClaimView> {
    const matching = this.#caches.claims
      .list()
      .filter((claim) => matches(claim, filter))
      .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
    const { after } = page;
    const rest = after === undefined ? matching : matching.filter((claim) => nameOf(claim) > after);
    const items = rest.slice(0, page.limit);
    const last = items.at(-1);
    return {
      items: items.map((claim) => this.#claimView(claim)),
      ...(rest.length > items.length && last !== undefined ? { continue: nameOf(last) } : {}),
      total: matching.length,
    };
  }

  claim(name: string): ClaimView | undefined {
    const claim = this.#caches.claims.get(name);
    return claim === undefined ? undefined : this.#claimView(claim);
  }

  #poolView(pool: Pool): PoolView {
    const problem = this.#caches.problemOf(pool.name);
    return {
      name: pool.name,
      ranges: pool.settings.segments.ranges.map(formatRange),
      conflictPolicy: pool.settings.conflictPolicy,
      conflictScope: pool.settings.conflictScope ?? "Cluster",
      quarantineSeconds: pool.settings.quarantineMs / 1000,
      ...countsOf(pool, this.#caches),
      ...(problem === undefined ? {} : { problem }),
    };
  }

  #claimView(claim: MACClaim): ClaimView {
    const status = statusOf(claim);
    const mac = macOfClaimName(nameOf(claim));
    const { creationTimestamp } = claim.metadata;
    return {
      name: nameOf(claim),
      mac: claim.spec.mac,
      ...(claim.spec.pool === undefined ? {} : { pool: claim.spec.pool }),
      origin: claim.spec.origin,
      phase: status.phase,
      owners: status.owners.map((owner) => this.#ownerView(owner)),
      inRange: mac !== undefined && this.#caches.index.pools().some((pool) => pool.has(mac)),
      ...(creationTimestamp === undefined ? {} : { created: creationTimestamp }),
      ...(status.deadline === undefined ? {} : { deadline: status.deadline }),
      ...(status.until === undefined ? {} : { until: status.until }),
    };
  }

  #ownerView(owner: ClaimOwner): OwnerView {
    const running = owner.kind === "Pod" ? this.#pod(owner) : this.#launcher(owner);
    const node = textAt(running, "spec", "nodeName");
    if (running === undefined || node === "") return owner;
    return { ...owner, node, pod: running.metadata.name ?? "" };
  }

  #pod({ namespace, name }: ClaimOwner): KubeObject | undefined {
    return name === undefined ? undefined : this.#caches.pods.get(`${namespace}/${name}`);
  }

  /** The live launcher on the node where the VMI is; during a migration there are two. */
  #launcher({ namespace, name }: ClaimOwner): KubeObject | undefined {
    const instance = name === undefined ? undefined : this.#caches.instances.get(`${namespace}/${name}`);
    if (instance === undefined) return undefined;
    const node = textAt(instance, "status", "nodeName");
    return this.#caches
      .podsOfInstance(instance)
      .find((pod) => !isFinished(pod) && (node === "" || textAt(pod, "spec", "nodeName") === node));
  }
}

function matches(claim: MACClaim, filter: ClaimFilter): boolean {
  const status = statusOf(claim);
  if (filter.phase !== undefined && status.phase !== filter.phase) return false;
  if (filter.pool !== undefined && claim.spec.pool !== filter.pool) return false;
  if (filter.namespace !== undefined && !status.owners.some((owner) => owner.namespace === filter.namespace)) {
    return false;
  }
  const { owner: wanted } = filter;
  if (wanted !== undefined && !status.owners.some((owner) => isOwner(owner, wanted))) return false;
  return filter.mac === undefined || hasMac(claim, filter.mac);
}

function isOwner(owner: ClaimOwner, wanted: string): boolean {
  const name = owner.name ?? owner.generateName ?? "";
  return [name, `${owner.namespace}/${name}`, `${owner.kind}/${owner.namespace}/${name}`].includes(wanted);
}

function hasMac(claim: MACClaim, text: string): boolean {
  const mac = parseMac(text);
  if (mac !== undefined) return claim.spec.mac === formatMac(mac);
  const digits = text.toLowerCase().replace(/[^0-9a-f]/g, "");
  return digits !== "" && claim.spec.mac.replaceAll(":", "").includes(digits);
}

function nameOf(claim: MACClaim): string {
  return claim.metadata.name ?? "";
}
