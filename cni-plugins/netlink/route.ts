/** Routes. */

import { familyOf } from "./address.ts";
import type { MessageBatch } from "./message-batch.ts";
import { eachAttribute, type Message, readBytes, readU8, readU16, readU32 } from "./message-reader.ts";
import * as nl from "./rtnetlink.ts";

export interface Route {
  readonly destination: Uint8Array;
  readonly length: number;
  readonly gateway: Uint8Array | undefined;
  /** The interface. */
  readonly index: number;
  /** 0 in each of these: the kernel's default. */
  readonly priority: number;
  readonly mtu: number;
  readonly advmss: number;
  readonly scope: number;
  readonly table: number;
}

const RTMSG_BYTES = 12;
const RTNEXTHOP_BYTES = 8;
/** Larger table numbers do not fit into the header. */
const LARGEST_SHORT_TABLE = 255;

/** Another next hop is added to a route that exists with the same metric. */
export function addRoute(batch: MessageBatch, route: Route): MessageBatch {
  const table = route.table === 0 ? nl.RT_TABLE_MAIN : route.table;
  batch.request("add a route", nl.RTM_NEWROUTE, nl.NLM_F_CREATE);
  const inHeader = table > LARGEST_SHORT_TABLE ? 0 : table;
  routeHeader(batch, familyOf(route.destination), route.length, inHeader, nl.RTPROT_BOOT, route.scope, nl.RTN_UNICAST);
  batch.bytes(nl.RTA_DST, route.destination);
  if (route.gateway !== undefined) batch.bytes(nl.RTA_GATEWAY, route.gateway);
  if (route.priority !== 0) batch.u32(nl.RTA_PRIORITY, route.priority);
  if (table > LARGEST_SHORT_TABLE) batch.u32(nl.RTA_TABLE, table);
  if (route.mtu !== 0 || route.advmss !== 0) {
    batch.nested(nl.RTA_METRICS, () => {
      if (route.mtu !== 0) batch.u32(nl.RTAX_MTU, route.mtu);
      if (route.advmss !== 0) batch.u32(nl.RTAX_ADVMSS, route.advmss);
    });
  }
  return batch.u32(nl.RTA_OIF, route.index);
}

/** Asks for the routes of a family. */
export function dumpRoutes(batch: MessageBatch, family: number): MessageBatch {
  batch.request("list routes", nl.RTM_GETROUTE, nl.NLM_F_DUMP);
  return routeHeader(batch, family, 0, 0, 0, 0, 0);
}

/** struct rtmsg */
function routeHeader(
  batch: MessageBatch,
  family: number,
  length: number,
  table: number,
  protocol: number,
  scope: number,
  type: number,
): MessageBatch {
  return batch.header([family, length, 0, 0, table, protocol, scope, type, 0, 0, 0, 0]);
}

export interface RouteView extends Pick<Route, "destination" | "length" | "table"> {
  /** One for each next hop that has a gateway. */
  readonly gateways: readonly Uint8Array[];
}

/** Of an RTM_NEWROUTE message. The destination of a default route is empty. */
export function readRoute({ view, start, end }: Message): RouteView {
  let destination: Uint8Array = new Uint8Array(0);
  const gateways: Uint8Array[] = [];
  let table = readU8(view, start + 4, end);
  eachAttribute(view, start + RTMSG_BYTES, end, (type, from, to) => {
    if (type === nl.RTA_DST) destination = readBytes(view, from, to);
    else if (type === nl.RTA_GATEWAY) gateways.push(readBytes(view, from, to));
    else if (type === nl.RTA_MULTIPATH) gateways.push(...readNextHops(view, from, to));
    else if (type === nl.RTA_TABLE) table = readU32(view, from, to);
  });
  return { destination, length: readU8(view, start + 1, end), gateways, table };
}

/** The gateways of the next hops: each is a struct rtnexthop and its attributes. */
function readNextHops(view: DataView, start: number, end: number): Uint8Array[] {
  const gateways: Uint8Array[] = [];
  for (let at = start; at + RTNEXTHOP_BYTES <= end; ) {
    const length = readU16(view, at, end);
    if (length < RTNEXTHOP_BYTES || at + length > end) break;
    eachAttribute(view, at + RTNEXTHOP_BYTES, at + length, (type, from, to) => {
      if (type === nl.RTA_GATEWAY) gateways.push(readBytes(view, from, to));
    });
    at += (length + 3) & ~3;
  }
  return gateways;
}
