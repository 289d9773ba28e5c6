/** What the kernel says of bridges and their uplinks in other messages than those about links. */

import { MAX_VLAN_RANGES } from "../../src/api/node-state.ts";
import { formatIpPrefix } from "../cni/ip-address.ts";
import { readAddress } from "../netlink/address.ts";
import { rangesOf, readPortVlans } from "../netlink/bridge-vlan.ts";
import { type Link, linkFamily, linkIndex } from "../netlink/link.ts";
import type { Message } from "../netlink/message-reader.ts";
import * as nl from "../netlink/rtnetlink.ts";

/** Interfaces of these kinds lead out of the node; "" is a physical one. All others lead to pods and VMs. */
const UPLINKS = ["", "bond", "team", "vlan"];

export class BridgeDetails {
  /** Bridges, and what may be an uplink of one, by index, as they were last printed. */
  readonly #links = new Map<number, Link>();
  /** The last AF_BRIDGE message about each port. */
  readonly #ports = new Map<number, Message>();
  /** Addresses of each interface, without those that every interface gives itself. */
  readonly #addresses = new Map<number, Set<string>>();
  /** Indexes of links whose lines may have changed. */
  readonly #changed = new Set<number>();

  get isChanged(): boolean {
    return this.#changed.size > 0;
  }

  /** A new dump begins. */
  clear(): void {
    for (const known of [this.#links, this.#ports, this.#addresses, this.#changed]) known.clear();
  }

  /** A link is printed. */
  printed(link: Link): void {
    if (link.kind === "bridge" || UPLINKS.includes(link.kind)) this.#links.set(link.index, link);
  }

  gone(index: number): void {
    for (const known of [this.#links, this.#ports]) known.delete(index);
  }

  /** Takes any message. What it needs are those about ports, of AF_BRIDGE, and about addresses. */
  take(message: Message): void {
    const { type } = message;
    if (type === nl.RTM_NEWADDR || type === nl.RTM_DELADDR) this.#takeAddress(message);
    else if (linkFamily(message) === nl.AF_BRIDGE) {
      const index = linkIndex(message);
      if (type === nl.RTM_NEWLINK) this.#ports.set(index, message);
      else this.#ports.delete(index);
      this.#changed.add(index);
    }
  }

  /** Indexes of the ports that lead out of the node. */
  get uplinks(): ReadonlySet<number> {
    return new Set([...this.#links.values()].filter(isUplink).map(({ index }) => index));
  }

  /** The printed links whose lines may have changed since the last time. */
  takeChanged(): Link[] {
    const changed = [...this.#changed];
    this.#changed.clear();
    // The ports of pods come and go by the thousand: nothing is kept of them.
    for (const index of changed) if (!this.#links.has(index)) this.#ports.delete(index);
    return changed.flatMap((index) => this.#links.get(index) ?? []);
  }

  /** What its line says besides. */
  of(link: Link): object {
    if (link.kind === "bridge") {
      const { index, spanningTree, bridgeVlans } = link;
      return {
        ...(bridgeVlans?.filtering ? { defaultVlan: bridgeVlans.defaultVlan } : {}),
        ...(bridgeVlans !== undefined && bridgeVlans.filtering === undefined ? { canFilterVlans: false } : {}),
        ...(spanningTree ? { spanningTree } : {}),
        ...((this.#addresses.get(index)?.size ?? 0) > 0 ? { hasAddress: true } : {}),
      };
    }
    return isUplink(link) ? { carrier: link.carrier, ...this.#vlansOf(link) } : {};
  }

  #vlansOf({ index }: Link): object {
    const message = this.#ports.get(index);
    if (message === undefined) return {};
    const vlans = readPortVlans(message);
    const ranges = rangesOf(vlans.map(({ id }) => id));
    const untagged = vlans.find(({ pvid }) => pvid)?.id;
    return {
      ...(ranges.length > MAX_VLAN_RANGES
        ? {}
        : { vlans: ranges.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)) }),
      ...(untagged === undefined ? {} : { untaggedVlan: untagged }),
    };
  }

  #takeAddress(message: Message): void {
    const { index, address, length } = readAddress(message);
    const isLinkLocal = address.length === 16 && address[0] === 0xfe && ((address[1] ?? 0) & 0xc0) === 0x80;
    if (isLinkLocal) return;
    const known = this.#addresses.get(index) ?? new Set();
    const text = formatIpPrefix({ address, length });
    if (message.type === nl.RTM_NEWADDR) known.add(text);
    else known.delete(text);
    if (known.size === 0) this.#addresses.delete(index);
    else this.#addresses.set(index, known);
    this.#changed.add(index);
  }
}

function isUplink({ kind, master }: Link): boolean {
  return master !== 0 && UPLINKS.includes(kind);
}
