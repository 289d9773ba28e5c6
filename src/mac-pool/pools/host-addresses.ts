import type { HostInterface } from "../../api/host-interfaces.ts";
import type { Mac } from "../../api/mac.ts";
import { ForeignStations } from "./foreign-stations.ts";

/** Addresses that nodes have on their own interfaces, or else see beyond their uplinks, as their markers report them. */
export class HostAddresses {
  readonly stations = new ForeignStations();
  readonly #byNode = new Map<string, ReadonlyMap<Mac, string>>();
  readonly #at = new Map<Mac, readonly HostInterface[]>();

  /** The interfaces with the address, those of the node first that reported it first. */
  at(mac: Mac): readonly HostInterface[] {
    const station = this.stations.at(mac);
    return this.#at.get(mac) ?? (station === undefined ? NOWHERE : [station]);
  }

  /** Whether the address is not given out. Of more stations than nodes may exclude, some are given out all the same. */
  has(mac: Mac): boolean {
    return this.#at.has(mac) || this.stations.excludes(mac);
  }

  macs(): Iterable<Mac> {
    return new Set([...this.#at.keys(), ...this.stations.macs()]);
  }

  /** Stations outside the cluster, without those whose address a node has itself. */
  *foreign(): Generator<readonly [Mac, HostInterface]> {
    for (const mac of this.stations.macs()) {
      const station = this.#at.has(mac) ? undefined : this.stations.at(mac);
      if (station !== undefined) yield [mac, station];
    }
  }

  /** Replaces what the node has: interfaces by their addresses. Returns the addresses that it has now or had before. */
  set(node: string, addresses: ReadonlyMap<Mac, string>): readonly Mac[] {
    const before = this.#byNode.get(node) ?? new Map<Mac, string>();
    const concerned = [...new Set([...before.keys(), ...addresses.keys()])];
    for (const mac of concerned) {
      const others = (this.#at.get(mac) ?? NOWHERE).filter((other) => other.node !== node);
      const name = addresses.get(mac);
      const all = name === undefined ? others : [...others, { node, interface: name }];
      if (all.length === 0) this.#at.delete(mac);
      else this.#at.set(mac, all);
    }
    if (addresses.size === 0) this.#byNode.delete(node);
    else this.#byNode.set(node, addresses);
    return concerned;
  }
}

const NOWHERE: readonly HostInterface[] = [];
