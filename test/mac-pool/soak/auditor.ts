import type { KubeClient } from "../../../src/kube/client/client.ts";
import type { KubeObject, Resource } from "../../../src/kube/client/resource.ts";

/** How long a lost watch waits before it is taken up again. */
const RETRY_MS = 200;
/** With whom an object may share an address: with nobody, with its like, or with anybody. */
export type Sharing = "none" | "like" | "any";

/** An object as the auditor reads it. */
export interface Reading {
  readonly macs: readonly string[];
  readonly sharing: Sharing;
}

const NEVER = Number.POSITIVE_INFINITY;

/** One object had one address from one revision of the store to another. */
interface Tenure {
  readonly holder: string;
  readonly sharing: Sharing;
  readonly from: number;
  until: number;
}

/**
 * Who had which address, read off the API server's watches and nothing else. Revisions are those of the one store behind
 * all kinds, so tenures of a VM and a pod can be compared. Where a watch was lost, an object that is gone afterwards
 * counts as gone when it was last seen: the auditor may miss a duplicate in such a gap, but never invents one.
 */
export class Auditor {
  readonly #client: KubeClient;
  readonly #tenures = new Map<string, Tenure[]>();
  /** Object -> the addresses that it has now. */
  readonly #present = new Map<string, { readonly macs: ReadonlySet<string>; readonly sharing: Sharing }>();
  readonly #lastSeen = new Map<string, number>();

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Follows one kind until the signal aborts. */
  async follow(resource: Resource, read: (object: KubeObject) => Reading, signal: AbortSignal) {
    while (!signal.aborted) {
      try {
        const list = await this.#client.list(resource, { signal });
        const there = new Set(list.items.map((object) => this.#key(resource, object)));
        for (const key of this.#present.keys()) {
          if (key.startsWith(`${resource.kind} `) && !there.has(key)) this.#gone(key, this.#lastSeen.get(key) ?? 0);
        }
        for (const object of list.items) this.#seen(resource, object, read(object));
        const { resourceVersion } = list;
        for await (const event of this.#client.watch(resource, { resourceVersion, signal })) {
          if (event.type === "ERROR") break;
          if (event.type === "BOOKMARK") continue;
          if (event.type === "DELETED") this.#gone(this.#key(resource, event.object), versionOf(event.object));
          else this.#seen(resource, event.object, read(event.object));
        }
      } catch {
        // The API server is away: that is part of the test.
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }

  /** Addresses that somebody has now. */
  present(): Set<string> {
    return new Set([...this.#present.values()].flatMap(({ macs }) => [...macs]));
  }

  /** Every pair of objects that had one address at the same time and may not share it. */
  duplicates(): string[] {
    const found: string[] = [];
    for (const [mac, tenures] of this.#tenures) {
      const sorted = [...tenures].sort((a, b) => a.from - b.from);
      for (const [index, tenure] of sorted.entries()) {
        const overlapping = sorted.slice(index + 1).filter((later) => later.from < tenure.until);
        for (const other of overlapping) {
          if (other.holder !== tenure.holder && !mayShare(other, tenure))
            found.push(`${mac}: ${tenure.holder} and ${other.holder}`);
        }
      }
    }
    return found;
  }

  #seen(resource: Resource, object: KubeObject, { macs: listed, sharing }: Reading): void {
    const key = this.#key(resource, object);
    const version = versionOf(object);
    const macs = new Set(listed);
    const before = this.#present.get(key);
    const keeps = (mac: string): boolean => before?.sharing === sharing && before.macs.has(mac);
    for (const mac of before?.macs ?? []) if (!macs.has(mac) || !keeps(mac)) this.#end(key, mac, version);
    for (const mac of macs) {
      if (keeps(mac)) continue;
      const tenures = this.#tenures.get(mac) ?? [];
      tenures.push({ holder: key, sharing, from: version, until: NEVER });
      this.#tenures.set(mac, tenures);
    }
    this.#present.set(key, { macs, sharing });
    this.#lastSeen.set(key, version);
  }

  #gone(key: string, version: number): void {
    for (const mac of this.#present.get(key)?.macs ?? []) this.#end(key, mac, version);
    this.#present.delete(key);
    this.#lastSeen.delete(key);
  }

  #end(key: string, mac: string, version: number): void {
    const tenure = this.#tenures.get(mac)?.find(({ holder, until }) => holder === key && until === NEVER);
    if (tenure !== undefined) tenure.until = version;
  }

  #key(resource: Resource, { metadata: { namespace, name, uid } }: KubeObject): string {
    return `${resource.kind} ${namespace}/${name} ${uid}`;
  }
}

const mayShare = (one: Tenure, other: Tenure): boolean =>
  one.sharing === "any" || other.sharing === "any" || (one.sharing === "like" && other.sharing === "like");

function versionOf(object: KubeObject): number {
  return Number(object.metadata.resourceVersion ?? 0);
}
