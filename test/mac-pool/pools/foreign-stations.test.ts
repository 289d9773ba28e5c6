import { beforeEach, describe, expect, it } from "vitest";
import { describeHosts } from "../../../src/api/host-interfaces.ts";
import { type Mac, parseMac } from "../../../src/api/mac.ts";
import { MAX_STATIONS } from "../../../src/api/node-state.ts";
import type { PoolSettings } from "../../../src/mac-pool/pools/pool.ts";
import { PoolIndex } from "../../../src/mac-pool/pools/pool-index.ts";
import { Segments } from "../../../src/mac-pool/pools/segments.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NOON_MS = Date.UTC(2026, 0, 2, 12);
const FIRST = parseMac("02:5d:1c:00:00:00") as Mac;
const macAt = (offset: number): Mac => (FIRST + offset) as Mac;
const FACTS = { isQuarantined: false, pool: "default", ownerCount: 1, namespaces: ["shop"], untilMs: 0 };

function settings(name: string, size: number): PoolSettings {
  return {
    name,
    segments: new Segments([{ start: FIRST, end: macAt(size - 1) }]),
    namespaceSelector: undefined,
    conflictPolicy: "Deny",
    quarantineMs: 0,
    pendingMs: 0,
    createdAtMs: 0,
  };
}

let index: PoolIndex;
let nowMs: number;

beforeEach(() => {
  index = new PoolIndex();
  index.setPool(settings("default", 8));
  nowMs = NOON_MS;
  index.setStations("node-a", [], nowMs);
  index.release(macAt(7), nowMs);
  nowMs += HOUR_MS;
});

/** Seen so long ago by the node, whose report has just come. */
function see(macs: readonly Mac[], agoMs = 0, node = "node-a"): void {
  const host = { node, interface: "eno2", isBeyond: true };
  index.setStations(
    node,
    macs.map((mac) => ({ mac, host, seenMs: nowMs - agoMs })),
    nowMs,
  );
}

/** Reports come all the time, with other stations. */
function pass(ms: number): void {
  nowMs += ms;
  index.setStations("node-z", [], nowMs);
}

const counts = (pool = "default") => index.pool(pool)?.counts;

describe("an address that somebody outside of the cluster has", () => {
  it("is not given out while nodes see it, and for a day after", () => {
    see([FIRST]);
    const pool = index.pool("default");
    const drawn = Array.from({ length: 64 }, (_, turn) => pool && index.draw(pool, turn / 64, 0));
    expect(new Set(drawn)).toEqual(new Set([1, 2, 3, 4, 5, 6, 7].map(macAt)));
    expect(counts()).toMatchObject({ free: 7, hostAddresses: 1, used: 0 });
    pass(24 * HOUR_MS);
    expect(counts()).toMatchObject({ hostAddresses: 1 });
    pass(MINUTE_MS);
    expect(counts()).toMatchObject({ free: 8, hostAddresses: 0 });
  });

  it("is kept a day from the last time that any node saw it", () => {
    see([FIRST], 20 * MINUTE_MS);
    see([FIRST], 0, "node-b");
    see([FIRST], 10 * MINUTE_MS, "node-c");
    pass(24 * HOUR_MS);
    expect(counts()).toMatchObject({ hostAddresses: 1 });
    expect(describeHosts(index.hosts.at(FIRST))).toBe(
      "a station outside the cluster, seen at uplink eno2 of node node-a",
    );
    pass(MINUTE_MS);
    expect(counts()).toMatchObject({ hostAddresses: 0 });
  });

  it("is kept by a pool that comes later", () => {
    see([FIRST]);
    index.setPool(settings("late", 4));
    expect(counts("late")).toMatchObject({ free: 3, hostAddresses: 1 });
  });

  it("is that of a node, where a node has it itself", () => {
    see([FIRST], 0, "node-b");
    index.setNode("node-a", new Map([[FIRST, "eno1"]]));
    expect(describeHosts(index.hosts.at(FIRST))).toBe("interface eno1 of node node-a");
    expect([...index.hosts.macs()]).toEqual([FIRST]);
  });
});

describe("an address of the cluster itself", () => {
  it("is no station of others, whoever is known first", () => {
    see([FIRST]);
    index.setClaim(FIRST, FACTS);
    expect(index.hosts.has(FIRST)).toBe(false);
    see([FIRST]);
    expect(index.hosts.has(FIRST)).toBe(false);
    expect(counts()).toMatchObject({ free: 7, hostAddresses: 0, used: 1 });
  });

  it("is none either without a claim, as soon as an object lists it", () => {
    see([FIRST]);
    index.list(FIRST, nowMs - HOUR_MS);
    expect(counts()).toMatchObject({ free: 8, hostAddresses: 0 });
  });

  it("is none after it was released, until forwarding tables have forgotten it", () => {
    index.setClaim(FIRST, FACTS);
    index.deleteClaim(FIRST);
    index.release(FIRST, nowMs);
    see([FIRST]);
    pass(10 * MINUTE_MS);
    see([FIRST]);
    expect(counts()).toMatchObject({ free: 8, hostAddresses: 0 });
    pass(1);
    see([FIRST]);
    expect(counts()).toMatchObject({ free: 7, hostAddresses: 1 });
  });

  it("is not released by an object that goes while the claim stays", () => {
    index.setClaim(FIRST, FACTS);
    index.release(FIRST, nowMs);
    index.deleteClaim(FIRST);
    see([FIRST]);
    expect(counts()).toMatchObject({ hostAddresses: 1 });
  });

  it("is kept for half an hour only where it may have been released before the replica started", () => {
    index = new PoolIndex();
    index.setPool(settings("default", 8));
    see([FIRST]);
    expect(counts()).toMatchObject({ hostAddresses: 1 });
    pass(31 * MINUTE_MS);
    expect(counts()).toMatchObject({ hostAddresses: 0 });
    see([FIRST]);
    pass(23 * HOUR_MS);
    expect(counts()).toMatchObject({ hostAddresses: 1 });
  });
});

describe("an address that an object got although somebody else has it", () => {
  const ask = (): void => index.setClaim(FIRST, FACTS, nowMs);
  const letGo = (): void => {
    index.deleteClaim(FIRST);
    index.release(FIRST, nowMs);
  };

  it("is not given out again after its release while it is seen, and for a day after", () => {
    see([FIRST]);
    pass(MINUTE_MS);
    ask();
    expect(index.hosts.at(FIRST)).toEqual([]);
    for (let hour = 0; hour < 48; hour++) {
      pass(HOUR_MS);
      see([FIRST], 0, "node-b");
    }
    letGo();
    expect(counts()).toMatchObject({ free: 7, hostAddresses: 1, used: 0 });
    for (let minute = 0; minute < 30; minute++) {
      pass(MINUTE_MS);
      see([FIRST], 0, "node-b");
      expect(index.hosts.has(FIRST)).toBe(true);
    }
    pass(24 * HOUR_MS);
    expect(index.hosts.has(FIRST)).toBe(true);
    pass(MINUTE_MS);
    expect(index.hosts.has(FIRST)).toBe(false);
  });

  it("is given out again where nobody has seen it for a day when it is released", () => {
    see([FIRST]);
    pass(MINUTE_MS);
    ask();
    pass(25 * HOUR_MS);
    letGo();
    expect(counts()).toMatchObject({ free: 8 });
  });

  it("is the object's own where it was seen after the object got it, and heard of first", () => {
    see([FIRST]);
    index.setClaim(FIRST, FACTS, nowMs - MINUTE_MS);
    pass(HOUR_MS);
    see([FIRST]);
    letGo();
    expect(counts()).toMatchObject({ free: 8 });
  });
});

describe("all nodes together", () => {
  const all = Array.from({ length: 64 }, (_, offset) => macAt(offset));
  const seeAll = (): void => {
    for (const node of ["node-a", "node-b", "node-c", "node-d"]) see(all, 0, node);
  };

  it("exclude no more than a half of a pool, and what is beyond is shown all the same", () => {
    index.setPool(settings("default", 64));
    seeAll();
    expect(counts()).toMatchObject({ free: 32, hostAddresses: 32 });
    seeAll();
    expect(counts()).toMatchObject({ free: 32, hostAddresses: 32 });
    expect([...index.hosts.macs()]).toHaveLength(64);
    const beyond = all.filter((mac) => !index.hosts.has(mac));
    expect(index.hosts.at(beyond[0] ?? FIRST)).toHaveLength(1);
    const pool = index.pool("default");
    const drawn = new Set(Array.from({ length: 640 }, (_, turn) => pool && index.draw(pool, turn / 640, 0)));
    expect(drawn).toEqual(new Set(beyond));
  });

  it("exclude a quarter each, also of addresses that another node was the first to see", () => {
    index.setPool(settings("default", 64));
    see(all);
    for (let turn = 0; turn < 3; turn++) see(all, 0, "node-b");
    see(all);
    const nodes = all.filter((mac) => index.hosts.has(mac)).map((mac) => index.hosts.at(mac)[0]?.node);
    expect(["node-a", "node-b"].map((node) => nodes.filter((one) => one === node).length)).toEqual([16, 16]);
  });

  it("exclude another one in place of one that is not excluded any more", () => {
    index.setPool(settings("default", 64));
    see(all.slice(0, 16));
    see(all.slice(16, 32), 0, "node-b");
    see(all.slice(32, 40), 0, "node-c");
    expect(counts()).toMatchObject({ hostAddresses: 32 });
    index.setClaim(FIRST, FACTS);
    see(all.slice(32, 40), 0, "node-c");
    expect(counts()).toMatchObject({ used: 1, hostAddresses: 32 });
  });

  it("exclude no more than that of a pool whose ranges shrink, nor by what is released", () => {
    index.setPool(settings("default", 256));
    seeAll();
    expect(counts()).toMatchObject({ hostAddresses: 64 });
    index.setPool(settings("default", 64));
    expect(counts()).toMatchObject({ hostAddresses: 16 });
    seeAll();
    pass(MINUTE_MS);
    const excluded = all.filter((mac) => index.hosts.has(mac));
    for (const mac of excluded) index.setClaim(mac, FACTS, nowMs);
    seeAll();
    for (const mac of excluded) index.deleteClaim(mac);
    for (const mac of excluded) index.release(mac, nowMs);
    expect(counts()?.hostAddresses).toBeLessThanOrEqual(32);
  });
});

describe("a node that says what it wants", () => {
  it("keeps no more than a quarter of a pool, and another node as many", () => {
    index.setPool(settings("default", 64));
    const all = Array.from({ length: 64 }, (_, offset) => macAt(offset));
    see(all.slice(0, 32));
    see(all.slice(32));
    see(all);
    expect(counts()).toMatchObject({ hostAddresses: 16 });
    see(all, 0, "node-b");
    expect(counts()).toMatchObject({ hostAddresses: 32 });
  });

  it("keeps no more in all than it may report, whatever it reports at another time", () => {
    index.setPool(settings("default", 0x10_000));
    for (let turn = 0; turn < 4; turn++) {
      see(Array.from({ length: MAX_STATIONS }, (_, offset) => macAt(turn * MAX_STATIONS + offset)));
    }
    expect(counts()).toMatchObject({ hostAddresses: MAX_STATIONS });
    pass(24 * HOUR_MS + MINUTE_MS);
    see([macAt(0x1000)]);
    expect(counts()).toMatchObject({ hostAddresses: 1 });
  });

  it("keeps none for longer by a clock that is ahead, and none by an old report", () => {
    see([FIRST], -1000 * HOUR_MS);
    see([macAt(1)], 31 * MINUTE_MS);
    expect(counts()).toMatchObject({ hostAddresses: 1 });
    pass(24 * HOUR_MS + MINUTE_MS);
    expect(counts()).toMatchObject({ hostAddresses: 0 });
  });
});
