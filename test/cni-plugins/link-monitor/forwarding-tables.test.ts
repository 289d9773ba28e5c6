import { beforeEach, describe, expect, it } from "vitest";
import { ForwardingTables, readQuery } from "../../../cni-plugins/link-monitor/forwarding-tables.ts";
import type { Syscalls } from "../../../cni-plugins/native/syscalls.ts";
import { EAGAIN, ENOBUFS } from "../../../cni-plugins/netlink/errno.ts";
import { MessageBatch } from "../../../cni-plugins/netlink/message-batch.ts";
import { NetlinkSocket } from "../../../cni-plugins/netlink/netlink-socket.ts";
import * as nl from "../../../cni-plugins/netlink/rtnetlink.ts";

const MAC = 0x02_5d_1c_00_00_a3;
const UPLINK = 300;
const BRIDGE = 2;
const QUERY = { ranges: [[MAC, MAC + 9]], seed: 1 } as const;
const EVENTS = 10;

interface Entry {
  readonly mac?: number;
  readonly port?: number;
  readonly state?: number;
  readonly flags?: number;
  readonly family?: number;
  readonly ticks?: number;
}

/** struct ndmsg with its attributes, as the kernel announces it. */
function entry({ mac = MAC, port = UPLINK, state = 2, flags = 0, family = nl.AF_BRIDGE, ticks = 0 }: Entry = {}) {
  const octets = new Uint8Array(6);
  const view = new DataView(octets.buffer);
  view.setUint16(0, Math.floor(mac / 2 ** 32));
  view.setUint32(2, mac % 2 ** 32);
  const cache = new Uint8Array(16);
  new DataView(cache.buffer).setUint32(8, ticks, true);
  return new MessageBatch()
    .request("an entry", nl.RTM_NEWNEIGH)
    .header([family, 0, 0, 0, port & 0xff, port >> 8, 0, 0, state, 0, flags, 0])
    .bytes(nl.NDA_LLADDR, octets)
    .u32(nl.NDA_MASTER, BRIDGE)
    .u16(nl.NDA_VLAN, 100)
    .bytes(nl.NDA_CACHEINFO, cache)
    .encode()
    .slice();
}

const failure = (errno: number): Error => Object.assign(new Error("receive failed"), { errno });

let nowMs: number;
let inbox: (Uint8Array | Error)[];
let dumped: Entry[];
let dumps: number;
let printed: { stations?: unknown[]; more?: number }[];
let opened: number;
let tables: ForwardingTables;

beforeEach(() => {
  nowMs = 5000;
  [inbox, dumped, printed] = [[], [], []];
  [dumps, opened] = [0, 0];
  let answers: Uint8Array[] = [];
  const receive = (fd: number): Uint8Array => {
    const next = fd === EVENTS ? inbox.shift() : answers.shift();
    if (next === undefined) throw failure(EAGAIN);
    if (next instanceof Error) throw next;
    return next;
  };
  const syscalls = {
    monotonicMs: () => nowMs,
    netlinkOpen: (_netns: number, groups: number) => {
      if (groups !== 0) opened += 1;
      return groups === nl.RTMGRP_NEIGH ? EVENTS : EVENTS + 1;
    },
    netlinkSend: (_fd: number, bytes: Uint8Array) => {
      dumps += 1;
      const request = new DataView(bytes.buffer, bytes.byteOffset);
      const [sequence, port] = [request.getUint32(8, true), request.getInt32(20, true)];
      const done = new MessageBatch().request("the end", nl.NLMSG_DONE).header([0, 0, 0, 0]).encode();
      answers = [...dumped.filter((one) => (one.port ?? UPLINK) === port).map(entry), done.slice()];
      for (const answer of answers) new DataView(answer.buffer).setUint32(8, sequence, true);
    },
    netlinkReceive: (fd: number, buffer: Uint8Array) => {
      const bytes = receive(fd);
      buffer.set(bytes);
      return bytes.length;
    },
    close: (fd: number) => {
      if (fd === EVENTS) opened -= 1;
    },
  } as unknown as Syscalls;
  tables = new ForwardingTables({
    syscalls,
    requests: new NetlinkSocket(syscalls),
    uplinks: () => new Set([UPLINK]),
    print: (event) => printed.push(event as never),
  });
});

/** As the monitor's loop does it at that time, with what the kernel has announced by then: to a socket that is open. */
function step(atMs: number, ...announced: (Uint8Array | Error)[]): void {
  nowMs = atMs;
  if (opened > 0) inbox.push(...announced);
  tables.step(tables.fd === EVENTS && inbox.length > 0);
}

function follow(): void {
  tables.follow(QUERY);
  step(nowMs);
}

describe("the forwarding tables of a node", () => {
  it("are left alone until ranges are given, and again when there are none any more", () => {
    step(nowMs, entry());
    expect([tables.fd, tables.nextAt, opened, dumps, printed]).toEqual([-1, Number.POSITIVE_INFINITY, 0, 0, []]);
    follow();
    expect([tables.fd, opened, dumps]).toEqual([EVENTS, 1, 1]);
    tables.follow({ ...QUERY, ranges: [] });
    expect([tables.fd, tables.nextAt, opened]).toEqual([-1, Number.POSITIVE_INFINITY, 0]);
    expect(printed.at(-1)).toEqual({ event: "stations", stations: [], more: 0 });
  });

  it("are dumped at first and once a minute, with the time when each station was seen", () => {
    dumped = [{ ticks: 1200 }, { mac: MAC + 20 }, { mac: MAC + 1, state: nl.NUD_PERMANENT }];
    follow();
    expect(printed).toEqual([{ event: "stations", stations: [[MAC, UPLINK, 100, 12, -1]], more: 0 }]);
    expect(tables.nextAt).toBe(65_000);
    step(64_999);
    expect(dumps).toBe(1);
    step(65_000);
    expect([dumps, printed.length]).toEqual([2, 2]);
  });

  it("say nothing once a minute where they have no station", () => {
    follow();
    step(65_000);
    expect([dumps, printed.length]).toEqual([2, 1]);
  });

  it("are followed in between, and told every ten seconds at most", () => {
    follow();
    step(6000, entry(), entry({ mac: MAC + 1 }));
    expect(printed).toHaveLength(1);
    expect(tables.nextAt).toBe(6100);
    step(6100);
    expect(tables.nextAt).toBe(15_000);
    step(15_000);
    expect(printed.at(-1)?.stations).toEqual([
      [MAC, UPLINK, 100, 9, -1],
      [MAC + 1, UPLINK, 100, 9, -1],
    ]);
  });

  it.each([
    ["a neighbour of IP", { family: nl.AF_INET }],
    ["an address of a port itself", { state: nl.NUD_PERMANENT }],
    ["what somebody has put there", { state: nl.NUD_NOARP }],
    ["what another driver knows", { flags: nl.NTF_SELF }],
    ["what is at a port of the node", { port: 7 }],
  ])("have no station that is %s", (_what, more) => {
    follow();
    step(6000, entry(more));
    step(6100);
    expect(tables.nextAt).toBe(65_000);
  });

  it("let events wait for a tenth of a second after some", () => {
    follow();
    step(6000, entry({ mac: MAC + 50 }));
    expect([tables.fd, tables.nextAt]).toEqual([-1, 6100]);
    step(6050, entry());
    expect(inbox).toHaveLength(1);
    step(6100);
    expect([inbox.length, tables.fd]).toEqual([0, -1]);
    step(6200);
    expect(tables.fd).toBe(EVENTS);
  });

  it("are dumped again after a loss, ten seconds after the last time", () => {
    follow();
    dumped = [{}];
    step(6000, failure(ENOBUFS), entry({ mac: MAC + 1 }), failure(ENOBUFS));
    expect([dumps, inbox]).toEqual([1, []]);
    step(6100);
    step(14_999, failure(ENOBUFS));
    expect(dumps).toBe(1);
    step(15_000);
    expect(dumps).toBe(2);
    expect(printed.at(-1)?.stations).toEqual([[MAC, UPLINK, 100, 0, -1]]);
    step(30_000, failure(ENOBUFS));
    expect(dumps).toBe(3);
  });
});

describe("what a daemon asks for", () => {
  it("is understood, and nothing else", () => {
    expect(readQuery(JSON.stringify(QUERY))).toEqual(QUERY);
    for (const wrong of ["", "{", "null", "{}", '{"ranges":[[1]],"seed":1}', '{"ranges":[["1",2]],"seed":1}']) {
      expect(readQuery(wrong)).toBeUndefined();
    }
    expect(readQuery('{"ranges":[]}')).toBeUndefined();
  });
});
