/**
 * Follows the links of its network namespace and prints JSON lines: every link, then `synced`, then changes. A link that
 * changes several times within a tenth of a second is printed once, as it is in the end. After `lost` or `resync` the whole
 * list follows, up to the next `synced`. While the list is not complete, `resync` is printed again. Options add the reports of the CNI
 * plugins, the addresses of links, how bridges and their uplinks are set, the end of network namespaces that links lead to,
 * and a heartbeat, `alive`. With bridges, a line on stdin asks for stations beyond the uplinks (`StationQuery`): they are
 * printed together, at most every ten seconds, as `stations`.
 */

import { formatIpPrefix } from "../cni/ip-address.ts";
import { readReport } from "../cni/operation-report.ts";
import { POLLERR, POLLHUP, POLLIN, STDIN, STDOUT, type Syscalls } from "../native/syscalls.ts";
import { dumpAddresses, readAddress } from "../netlink/address.ts";
import { dumpPortVlans } from "../netlink/bridge-vlan.ts";
import { EAGAIN, ENOBUFS, EPIPE } from "../netlink/errno.ts";
import { dumpLinks, type Link, linkFamily, linkIndex, readLink } from "../netlink/link.ts";
import type { MessageBatch } from "../netlink/message-batch.ts";
import type { Message } from "../netlink/message-reader.ts";
import { errnoOf, NetlinkSocket } from "../netlink/netlink-socket.ts";
import * as nl from "../netlink/rtnetlink.ts";
import { decodeUtf8 } from "../netlink/utf8.ts";
import type { Arguments } from "./arguments.ts";
import { BridgeDetails } from "./bridge-details.ts";
import { ForwardingTables, readQuery } from "./forwarding-tables.ts";

/** Our reports are shorter. */
const REPORT_BYTES = 4096;

/** The daemon writes lines of any length. */
const STDIN_BYTES = 4096;

/** The pause before the next list, where links changed during every dump of the last one. */
const PAUSE_MS = 1000;

/** Changes are printed no more often than this. In between, the last message about each link is kept. */
const HOLD_MS = 100;

export class LinkMonitor {
  readonly #syscalls: Syscalls;
  readonly #resyncMs: number;
  /** Infinity for none. */
  readonly #heartbeatMs: number;
  readonly #addresses: boolean;
  /** Undefined where nobody asked for them. */
  readonly #bridges: BridgeDetails | undefined;
  readonly #events: NetlinkSocket;
  readonly #requests: NetlinkSocket;
  /** Undefined where nobody asked for bridges. */
  readonly #tables: ForwardingTables | undefined;
  /** Descriptor of the socket that plugins report to; -1 for none. */
  readonly #reports: number;
  readonly #stdin = new Uint8Array(STDIN_BYTES);
  /** The begin of a line of stdin. */
  #input = "";
  readonly #report = new Uint8Array(REPORT_BYTES);
  /** The last line printed for each index: the kernel also announces changes that are not printed. */
  readonly #printed = new Map<number, string>();
  /** Changes of links that are not printed yet: the last message about each index. */
  readonly #held = new Map<number, Message>();
  /** When to print them at the earliest. */
  #printHeldAt = 0;
  /** When to read the whole list again. */
  #resyncAt = 0;

  constructor(syscalls: Syscalls, options: Arguments) {
    const { resyncSeconds, heartbeatSeconds = Number.POSITIVE_INFINITY, reportSocket } = options;
    const { addresses, bridges, namespaces } = options;
    this.#syscalls = syscalls;
    this.#reports = reportSocket === undefined ? -1 : syscalls.bindReports(reportSocket);
    this.#resyncMs = resyncSeconds * 1000;
    this.#heartbeatMs = heartbeatSeconds * 1000;
    this.#addresses = addresses;
    this.#bridges = bridges ? new BridgeDetails() : undefined;
    const groups = [
      nl.RTMGRP_LINK,
      ...(addresses || bridges ? [nl.RTMGRP_IPV4_IFADDR, nl.RTMGRP_IPV6_IFADDR] : []),
      ...(namespaces ? [nl.RTMGRP_NSID] : []),
    ];
    // Subscribed before the first list, so that no change falls between.
    this.#events = new NetlinkSocket(
      syscalls,
      -1,
      groups.reduce((all, group) => all | group),
    );
    const requests = new NetlinkSocket(syscalls);
    this.#requests = requests;
    const details = this.#bridges;
    this.#tables =
      details &&
      new ForwardingTables({
        syscalls,
        requests,
        uplinks: () => details.uplinks,
        print: (event) => this.#print(event),
      });
  }

  /** Returns when its parent is gone: stdin ended or stdout was closed. */
  run(): void {
    try {
      this.#printAll();
      this.#follow();
    } catch (error) {
      if (errnoOf(error) !== EPIPE) throw error;
    }
  }

  #follow(): void {
    let heartbeatAt = this.#syscalls.monotonicMs() + this.#heartbeatMs;
    for (;;) {
      const nextAt = Math.min(
        this.#resyncAt,
        heartbeatAt,
        this.#tables?.nextAt ?? Number.POSITIVE_INFINITY,
        this.#held.size > 0 || this.#bridges?.isChanged ? this.#printHeldAt : Number.POSITIVE_INFINITY,
      );
      const restMs = Math.max(0, Math.ceil(nextAt - this.#syscalls.monotonicMs()));
      const waitedFor = [this.#events.fd, STDIN, STDOUT, this.#reports, this.#tables?.fd ?? -1];
      const [events = 0, input = 0, output = 0, reports = 0, learned = 0] = this.#syscalls.poll(waitedFor, restMs);
      if ((output & (POLLERR | POLLHUP)) !== 0 || (input !== 0 && this.#inputEnded(input))) return;
      if (events !== 0) this.#readEvents();
      if (reports !== 0) this.#readReports();
      this.#tables?.step(learned !== 0);
      if (this.#syscalls.monotonicMs() >= this.#printHeldAt) this.#printHeld();
      if (this.#syscalls.monotonicMs() >= this.#resyncAt) {
        this.#print({ event: "resync" });
        this.#printAll();
      }
      if (this.#syscalls.monotonicMs() >= heartbeatAt) {
        this.#print({ event: "alive" });
        heartbeatAt = this.#syscalls.monotonicMs() + this.#heartbeatMs;
      }
    }
  }

  /** Takes what comes on stdin, unless it has ended. */
  #inputEnded(events: number): boolean {
    const length = (events & POLLIN) === 0 ? 0 : this.#syscalls.read(STDIN, this.#stdin);
    const lines = (this.#input + decodeUtf8(this.#stdin.subarray(0, length))).split("\n");
    this.#input = lines.pop() ?? "";
    for (const line of lines) {
      const query = readQuery(line);
      if (query !== undefined) this.#tables?.follow(query);
    }
    return length === 0;
  }

  #readEvents(): void {
    try {
      for (;;) {
        const messages = this.#events.receiveEvents();
        if (messages.length === 0) return;
        for (const message of messages) this.#printChange(message);
      }
    } catch (error) {
      if (errnoOf(error) !== ENOBUFS) throw error;
      this.#discardEvents();
      this.#print({ event: "lost" });
      this.#printAll();
    }
  }

  #readReports(): void {
    try {
      for (;;) {
        const length = this.#syscalls.read(this.#reports, this.#report);
        const report = readReport(decodeUtf8(this.#report.subarray(0, length)));
        if (report !== undefined) this.#print({ event: "report", ...report });
      }
    } catch (error) {
      if (errnoOf(error) !== EAGAIN) throw error;
    }
  }

  /**
   * Events that are queued or held when the socket overflows are older than the lost ones. Printed after the new list, they
   * would bring back links that are gone. And until the queue is empty, the kernel drops further events without another error.
   */
  #discardEvents(): void {
    this.#held.clear();
    for (;;) {
      try {
        if (this.#events.receiveEvents().length === 0) return;
      } catch (error) {
        if (errnoOf(error) !== ENOBUFS) throw error;
      }
    }
  }

  #printChange(message: Message): void {
    this.#bridges?.take(message);
    const isOfLink = message.type === nl.RTM_NEWLINK || message.type === nl.RTM_DELLINK;
    const isOfAddress = message.type === nl.RTM_NEWADDR || message.type === nl.RTM_DELADDR;
    if (isOfLink) this.#hold(message);
    else if (this.#addresses || !isOfAddress) this.#printHeld();
    if (isOfAddress && !this.#addresses) return;
    if (message.type === nl.RTM_DELNSID) this.#print({ event: "namespace-gone" });
    else if (message.type === nl.RTM_NEWADDR) this.#print(describeAddress(message, "address"));
    else if (message.type === nl.RTM_DELADDR) this.#print(describeAddress(message, "address-gone"));
  }

  #hold(message: Message): void {
    // A bridge's messages about a port have another family: its RTM_DELLINK does not mean that the link is gone.
    if (linkFamily(message) !== nl.AF_UNSPEC) return;
    const index = linkIndex(message);
    const isKnown = this.#held.has(index) || this.#printed.has(index);
    if (!isKnown && message.type === nl.RTM_DELLINK) return;
    this.#held.set(index, message);
  }

  #printHeld(): void {
    if (this.#held.size === 0 && !this.#bridges?.isChanged) return;
    for (const message of this.#held.values()) {
      const link = readLink(message);
      if (message.type === nl.RTM_DELLINK) this.#printGone(link);
      else this.#printLink(link);
    }
    this.#held.clear();
    for (const link of this.#bridges?.takeChanged() ?? []) this.#printLink(link);
    this.#printHeldAt = this.#syscalls.monotonicMs() + HOLD_MS;
  }

  /** Prints nothing of a list that may lack entries: the reader would take what is missing for gone. */
  #printAll(): void {
    const links = this.#dump(dumpLinks);
    const addresses =
      this.#addresses || this.#bridges ? this.#dump((batch) => dumpAddresses(batch, nl.AF_UNSPEC, 0)) : [];
    const ports = this.#bridges === undefined ? [] : this.#dump(dumpPortVlans);
    const isWhole = links !== undefined && addresses !== undefined && ports !== undefined;
    this.#resyncAt = this.#syscalls.monotonicMs() + (isWhole ? this.#resyncMs : PAUSE_MS);
    if (!isWhole) return;
    this.#printed.clear();
    this.#held.clear();
    this.#bridges?.clear();
    for (const message of [...ports, ...addresses]) this.#bridges?.take(message);
    for (const message of links) this.#printLink(readLink(message));
    // Nothing is left to print again: each line said it all.
    this.#bridges?.takeChanged();
    if (this.#addresses) for (const message of addresses) this.#print(describeAddress(message, "address"));
    this.#print({ event: "synced" });
  }

  /** Undefined when links changed during every dump. */
  #dump(request: (batch: MessageBatch) => MessageBatch): readonly Message[] | undefined {
    const { error, interrupted, messages } = this.#requests.dump(request);
    if (error !== undefined) throw error;
    return interrupted ? undefined : messages;
  }

  /** Nothing where the line is the last one about it. */
  #printLink(link: Link): void {
    const line = describeLink(link, this.#bridges?.of(link));
    this.#bridges?.printed(link);
    if (this.#printed.get(link.index) === line) return;
    this.#printed.set(link.index, line);
    this.#syscalls.write(STDOUT, line);
  }

  #printGone({ index, name }: Link): void {
    this.#printed.delete(index);
    this.#bridges?.gone(index);
    this.#print({ event: "gone", index, name });
  }

  #print(event: object): void {
    this.#syscalls.write(STDOUT, `${JSON.stringify(event)}\n`);
  }
}

/**
 * `permanentMac` only where it is another one: a bond gives its members its own address. `vlanFiltering` only of a bridge
 * that filters.
 */
function describeLink(link: Link, details: object | undefined): string {
  const { index, name, kind, up, master, mac, mtu, permanentMac, bridgeVlans } = link;
  const more = {
    ...(permanentMac === "" || permanentMac === mac ? {} : { permanentMac }),
    ...(bridgeVlans?.filtering ? { vlanFiltering: true } : {}),
    ...details,
  };
  return `${JSON.stringify({ event: "link", index, name, kind, up, master, mac, mtu, ...more })}\n`;
}

function describeAddress(message: Message, event: "address" | "address-gone"): object {
  const { index, address, length } = readAddress(message);
  return { event, index, address: formatIpPrefix({ address, length }) };
}
