import { claimName, formatMac, type Mac, parseMac } from "../../../api/mac.ts";
import { type ClaimOwner, isNamesake, type MACClaim, type OwnerKind } from "../../../api/mac-claim.ts";
import type { KubeObject } from "../../../kube/client/resource.ts";
import { statusOf } from "../../claims/claim.ts";
import type { Caches } from "../../cluster/caches.ts";
import { instanceMacs, machineMacs, podMacs } from "../../objects/holders.ts";
import type { DenialView, OwnerStoryView, StoryEntryView } from "../rest/views.ts";
import type { Catalog } from "./catalog.ts";
import type { ClaimQueries } from "./claims.ts";
import type { DenialQueries } from "./denials.ts";
import type { History } from "./history.ts";
import { hostAddressIn, type Scope } from "./scope.ts";

export interface OwnerRef {
  readonly kind: OwnerKind;
  readonly namespace: string;
  readonly name: string;
}

/** One interface: by the object, by a claim, or by both. */
type Interface = OwnerStoryView["interfaces"][number];

/** What one VM, VMI or pod has, and what happened to it. */
export class OwnerQueries {
  readonly #caches: Caches;
  readonly #catalog: Catalog;
  readonly #claims: ClaimQueries;
  readonly #denials: DenialQueries;
  readonly #history: History;

  constructor(caches: Caches, catalog: Catalog, claims: ClaimQueries, denials: DenialQueries, history: History) {
    this.#caches = caches;
    this.#catalog = catalog;
    this.#claims = claims;
    this.#denials = denials;
    this.#history = history;
  }

  /** Undefined for an object that has no address, is not there, and was not refused. */
  async story(ref: OwnerRef, scope: Scope): Promise<OwnerStoryView | undefined> {
    const object = this.#object(ref);
    const claims = this.#claimsOf(ref);
    const { items, partial = [] } = await this.#denials.merged({ namespace: ref.namespace, name: ref.name }, scope);
    const denials = items.filter(({ kind }) => kind === ref.kind);
    const told = this.#history.of(`${ref.kind}/${ref.namespace}/${ref.name}`);
    if (object === undefined && claims.length === 0 && denials.length === 0 && told.length === 0) return undefined;
    const created = object?.metadata.creationTimestamp;
    const story = [
      ...(created === undefined ? [] : [{ at: created, what: "created" as const, message: `${ref.kind} was created` }]),
      ...claims.flatMap(({ claim, owner }) => allocation(claim, owner)),
      ...told,
      ...denials.map(refusal),
    ];
    return {
      ...ref,
      exists: object !== undefined,
      ...this.#claims.placeOf(ref),
      interfaces: this.#interfaces(ref, object, claims).map((one) => ({
        ...one,
        ...hostAddressIn(scope, this.#caches.index.hosts.at(parseMac(one.mac) as Mac)),
      })),
      story: story.sort((one, other) => Date.parse(other.at) - Date.parse(one.at)),
      partial: [...partial],
    };
  }

  /** Names of objects of the kind that are there or have claims, in a namespace. */
  namesIn({ kind, namespace }: Omit<OwnerRef, "name">): string[] {
    const names = new Set<string>();
    this.#catalog.claimsIn(namespace).scan(0 as Mac, (claim) => {
      for (const owner of statusOf(claim).owners) {
        if (owner.kind === kind && owner.namespace === namespace && owner.name !== undefined) names.add(owner.name);
      }
      return true;
    });
    return [...names];
  }

  #object({ kind, namespace, name }: OwnerRef): KubeObject | undefined {
    const { machines, instances, pods } = this.#caches;
    const informer = { VirtualMachine: machines, VirtualMachineInstance: instances, Pod: pods }[kind];
    return informer.get(`${namespace}/${name}`);
  }

  #claimsOf(ref: OwnerRef): { readonly claim: MACClaim; readonly owner: ClaimOwner }[] {
    const found: { claim: MACClaim; owner: ClaimOwner }[] = [];
    this.#catalog.claimsIn(ref.namespace).scan(0 as Mac, (claim) => {
      const owner = statusOf(claim).owners.findLast((owner) => isNamesake(owner, ref));
      if (owner !== undefined) found.push({ claim, owner });
      return true;
    });
    return found;
  }

  #interfaces(
    { kind }: OwnerRef,
    object: KubeObject | undefined,
    claims: readonly { readonly claim: MACClaim; readonly owner: ClaimOwner }[],
  ): Interface[] {
    const claimed = claims.map(
      ({ claim, owner }): Interface => ({
        interface: owner.interface,
        mac: claim.spec.mac,
        claim: claim.metadata.name ?? "",
        phase: this.#caches.phaseOf(claim),
        origin: claim.spec.origin,
        ...(owner.network === undefined ? {} : { network: owner.network }),
        since: owner.since,
      }),
    );
    const known = new Set(claimed.map(({ claim }) => claim));
    const listed = object === undefined ? [] : LISTED[kind](object);
    const unclaimed = listed
      .filter(({ mac }) => !known.has(claimName(mac)))
      .map(
        ({ mac, holder }): Interface => ({
          interface: holder.interface,
          mac: formatMac(mac),
          ...(holder.network === undefined ? {} : { network: holder.network }),
        }),
      );
    return [...claimed, ...unclaimed].sort((one, other) => (one.interface < other.interface ? -1 : 1));
  }
}

const LISTED = {
  VirtualMachine: machineMacs,
  VirtualMachineInstance: instanceMacs,
  Pod: (pod: KubeObject) => podMacs(pod),
} as const;

function allocation(claim: MACClaim, owner: ClaimOwner): StoryEntryView[] {
  const { mac, origin } = claim.spec;
  const what = { automatic: "was given", explicit: "asked for and got", observed: "was found with" }[origin];
  const entry = { at: owner.since, mac, interface: owner.interface };
  const others = statusOf(claim).owners.filter(({ kind, namespace, name }) => {
    return kind !== owner.kind || namespace !== owner.namespace || name !== owner.name;
  });
  const shared: StoryEntryView[] =
    others.length === 0 ? [] : [{ ...entry, what: "shared", message: `shares ${mac} with ${count(others.length)}` }];
  return [...shared, { ...entry, what: "allocated", message: `${what} ${mac} for interface ${owner.interface}` }];
}

const count = (others: number): string => (others === 1 ? "another object" : `${others} other objects`);

function refusal({ at, code, mac, interface: name, message, count: times }: DenialView): StoryEntryView {
  return {
    at,
    what: "refused",
    code,
    ...(mac === undefined ? {} : { mac }),
    ...(name === undefined ? {} : { interface: name }),
    message: times === 1 ? message : `${message} (${times} times)`,
  };
}
