/** What the steps of an ADD know and have made so far. */

import type { DelegateRun } from "../cni/delegate.ts";
import type { IpPrefix } from "../cni/ip-address.ts";
import type { Call } from "../cni/plugin.ts";
import { getLink, type Link, linkOf } from "../netlink/link.ts";
import type { NetlinkSocket } from "../netlink/netlink-socket.ts";
import type { Addresses } from "./addresses.ts";
import type { Attachment } from "./attachment.ts";
import type { AddressingConfig, BridgeConfig } from "./config.ts";
import type { LazyNetfilter } from "./netfilter.ts";
import type { RuleRecord } from "./rule-record.ts";

export interface AddState {
  readonly call: Call;
  readonly config: BridgeConfig;
  readonly attachment: Attachment;
  readonly mac: Uint8Array;
  /** Descriptor of the container's namespace. */
  readonly netns: number;
  readonly node: NetlinkSocket;
  readonly container: NetlinkSocket;
  bridge: Link | undefined;
  /** The MTU of a bridge that was there before. */
  bridgeMtu: number | undefined;
  /** The bridge is this call's. */
  bridgeCreated: boolean;
  /** Promiscuous mode was switched on by this call. */
  promiscuousSet: boolean;
  /** Name of the node's end of the pair, once this call made it. */
  portName: string | undefined;
  /** The node's end of the pair as it was last read. */
  port: Link | undefined;
  /** The IPAM plugin, if the configuration names one. */
  readonly ipam: DelegateRun | undefined;
  /** What it gave, completed. */
  addresses: Addresses | undefined;
  /** Of the container's end of the pair, in its namespace. */
  containerIndex: number | undefined;
  /** The gateway's interface in the attachment's VLAN. */
  vlanGateway: Link | undefined;
  vlanGatewayCreated: boolean;
  /** Addresses of the gateway's interface, in the order of the changes. */
  readonly gatewayChanges: { readonly index: number; readonly address: IpPrefix; readonly added: boolean }[];
  readonly netfilter: LazyNetfilter;
  /** The rules that this call made. */
  rules: RuleRecord;
}

export function required<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`a step needs ${what} before it was made`);
  return value;
}

/** Throws ENODEV for one that was deleted. */
export function requireLink(socket: NetlinkSocket, which: string | number): Link {
  return required(linkOf(socket.run(getLink(socket.batch(), which))[0]), `interface ${which}`);
}

export function addressingOf({ config }: AddState): AddressingConfig {
  return required(config.addressing, "the addressing configuration");
}
