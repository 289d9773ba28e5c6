import type { OwnerKind } from "../../src/api/mac-claim.ts";
import type { NodeMACs } from "../../src/api/node-macs.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import { keyOf } from "../support/object-store.ts";
import type { Party, Place } from "./audit.ts";
import { domainsHeld } from "./layer2.ts";
import { type HolderKind, macsHeld } from "./objects.ts";
import type { SimReplica } from "./sim-replica.ts";

interface Listing {
  /** Undefined for a launcher, which speaks for its instance, and for a node. */
  readonly party: Party | undefined;
  readonly sinceMs: number;
  readonly domain: string | undefined;
}

interface Asking {
  readonly kind: HolderKind;
  readonly namespace: string;
  readonly name: string | undefined;
}

const NODE = "Node ";

/** What the caches of each replica list, read with the simulation's own eyes, and since when. */
export class Listings {
  readonly #nowMs: () => number;
  /** Address -> object -> since when it is listed. */
  readonly #listed = new Map<SimReplica, Map<string, Map<string, Listing>>>();
  readonly #endedMs = new Map<SimReplica, Map<string, number>>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  follow(replica: SimReplica): void {
    for (const known of this.#listed.keys()) {
      if (known.host.isAlive) continue;
      this.#listed.delete(known);
      this.#endedMs.delete(known);
    }
    const [listed, endedMs] = [new Map<string, Map<string, Listing>>(), new Map<string, number>()];
    this.#listed.set(replica, listed);
    this.#endedMs.set(replica, endedMs);
    const { machines, instances, pods, nodeMacs } = replica.caches;
    const lists = (
      id: string,
      party: Party | undefined,
      macs: readonly string[],
      domains: ReadonlyMap<string, string | undefined>,
    ): void => {
      for (const [mac, holders] of listed) {
        if (!macs.includes(mac) && holders.delete(id) && holders.size === 0) endedMs.set(mac, this.#nowMs());
      }
      for (const mac of macs) {
        const holders = listed.get(mac) ?? new Map<string, Listing>();
        listed.set(mac, holders);
        const known = holders.get(id);
        const domain = domains.get(mac) ?? known?.domain;
        if (known === undefined || known.domain !== domain) holders.set(id, { party, domain, sinceMs: this.#nowMs() });
      }
    };
    const reports = ({ metadata, addresses }: NodeMACs): void =>
      lists(
        NODE + metadata.name,
        undefined,
        addresses.map(({ mac }) => mac),
        new Map(),
      );
    nodeMacs.on({ add: reports, update: reports, delete: (report) => reports({ ...report, addresses: [] }) });
    for (const [kind, informer] of [
      ["VirtualMachine", machines],
      ["VirtualMachineInstance", instances],
      ["Pod", pods],
    ] as const) {
      const change = (object: KubeObject, isGone: boolean): void => {
        const macs = isGone ? [] : macsHeld({ ...object, kind });
        const domains = domainsHeld({ ...object, kind });
        lists(`${kind} ${keyOf(object.metadata)}`, partyOf(kind, object), macs, domains);
      };
      informer.on({
        add: (object) => change(object, false),
        update: (object) => change(object, false),
        delete: (object) => change(object, true),
      });
    }
  }

  /** Objects that the replica knew to list the address before a time and ever since; not the one that asks. */
  listedBefore(
    replica: SimReplica,
    mac: string,
    beforeMs: number,
    asking: Asking,
    isApart: (place: Place) => boolean,
  ): string[] {
    const listings = [...(this.#listed.get(replica)?.get(mac) ?? [])];
    const isOther = ({ party, domain }: Listing): boolean =>
      party !== undefined &&
      !isApart({ party, domain }) &&
      (party.kind !== asking.kind || party.namespace !== asking.namespace || party.name !== asking.name);
    return listings.flatMap(([id, listing]) => (listing.sinceMs < beforeMs && isOther(listing) ? [id] : []));
  }

  /** A node that the replica knew to have the address before a time and ever since. */
  nodeBefore(replica: SimReplica, mac: string, beforeMs: number): string | undefined {
    const listings = [...(this.#listed.get(replica)?.get(mac) ?? [])];
    return listings.find(([id, { sinceMs }]) => id.startsWith(NODE) && sinceMs < beforeMs)?.[0];
  }

  /** Whether the replica has known something to list the address after a time. */
  isListedSince(replica: SimReplica, mac: string, sinceMs: number): boolean {
    const count = this.#listed.get(replica)?.get(mac)?.size ?? 0;
    return count > 0 || (this.#endedMs.get(replica)?.get(mac) ?? Number.NEGATIVE_INFINITY) >= sinceMs;
  }
}

function partyOf(kind: OwnerKind, { metadata }: KubeObject): Party | undefined {
  const { namespace = "", name = "", ownerReferences } = metadata;
  const owner = ownerReferences?.[0];
  if (owner === undefined) return { kind, namespace, name };
  return kind === "Pod" ? undefined : { kind: "VirtualMachine", namespace, name: owner.name };
}
