/** The container's interface: how it is, and each change of it. */

import { parseMacAddress } from "../cni/mac-address.ts";
import type { Originals } from "../cni/tuning-state.ts";
import { type Link, setPromiscuous } from "../netlink/link.ts";
import { setAllMulticast, setLinkMac, setLinkMtu, setTxQueueLength } from "../netlink/link-tuning.ts";
import type { MessageBatch } from "../netlink/message-batch.ts";
import { IFF_ALLMULTI, IFF_PROMISC } from "../netlink/rtnetlink.ts";
import type { TuningConfig } from "./config.ts";

/** What the configuration is about to change, as it is now. */
export function originalsOf(link: Link, config: TuningConfig): Originals {
  return {
    ...(config.mac === undefined ? {} : { mac: link.mac }),
    ...(config.promiscuous ? { promisc: isPromiscuous(link) } : {}),
    ...(config.mtu === undefined ? {} : { mtu: link.mtu }),
    ...(config.allMulticast === undefined ? {} : { allmulti: isAllMulticast(link) }),
    ...(config.txQueueLength === undefined ? {} : { txQLen: link.txQueueLength }),
  };
}

/** One request for each attribute that is there, in an order in which none undoes another. */
export function requestOriginals(batch: MessageBatch, index: number, originals: Originals): MessageBatch {
  const { mac, promisc, mtu, allmulti, txQLen } = originals;
  const address = mac === undefined ? undefined : parseMacAddress(mac);
  if (mtu !== undefined) setLinkMtu(batch, index, mtu);
  if (address !== undefined) setLinkMac(batch, index, address);
  if (promisc !== undefined) setPromiscuous(batch, index, promisc);
  if (allmulti !== undefined) setAllMulticast(batch, index, allmulti);
  if (txQLen !== undefined) setTxQueueLength(batch, index, txQLen);
  return batch;
}

export function requestTuning(batch: MessageBatch, index: number, config: TuningConfig): MessageBatch {
  if (config.mac !== undefined) setLinkMac(batch, index, config.mac);
  if (config.promiscuous) setPromiscuous(batch, index, true);
  if (config.mtu !== undefined) setLinkMtu(batch, index, config.mtu);
  if (config.allMulticast !== undefined) setAllMulticast(batch, index, config.allMulticast);
  if (config.txQueueLength !== undefined) setTxQueueLength(batch, index, config.txQueueLength);
  return batch;
}

/** Whether somebody asked for it by name; a packet capture for one counts elsewhere. */
export function isPromiscuous({ flags }: Link): boolean {
  return (flags & IFF_PROMISC) !== 0;
}

export function isAllMulticast({ flags }: Link): boolean {
  return (flags & IFF_ALLMULTI) !== 0;
}
