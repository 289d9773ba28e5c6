import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { MACPool } from "../../src/api/mac-pool.ts";
import { formatRange } from "../../src/api/mac-range.ts";
import { followPoolRanges, stationQuery } from "../../src/bridge-marker/pool-ranges.ts";
import { ApiError } from "../../src/kube/client/api-error.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { silentLog } from "../../src/kube/log.ts";
import { ManualClock } from "../kube/support/manual-clock.ts";

const REFRESH_MS = 600_000;
const A = "02:00:00:00:00:01-02:00:00:00:00:ff";
const NEXT = "02:00:00:00:01:00-02:00:00:00:01:0f";
const C = "0a:00:00:00:00:00-0a:00:00:00:00:0f";

let clock: ManualClock;
let pools: (readonly string[] | undefined)[];
let refusal: ApiError | undefined;
let lists: number;
let found: string[][];
let stop: AbortController;
let running: Promise<void>;

beforeEach(() => {
  clock = new ManualClock();
  pools = [];
  refusal = undefined;
  lists = 0;
  found = [];
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await running;
});

function start(): void {
  const list = async (): Promise<{ items: MACPool[] }> => {
    lists += 1;
    if (refusal !== undefined) throw refusal;
    return { items: pools.map((ranges) => ({ status: { ranges } }) as unknown as MACPool) };
  };
  running = followPoolRanges(
    {
      client: { list } as unknown as KubeClient,
      refreshMs: REFRESH_MS,
      onRanges: (ranges) => found.push(ranges.map(formatRange)),
      clock,
      log: silentLog,
    },
    stop.signal,
  );
}

/** Until it has read the pools so often. */
async function read(times: number, waitMs = REFRESH_MS): Promise<void> {
  while (lists < times) {
    const before = lists;
    await vi.waitFor(() => expect(clock.pending).toBeGreaterThan(0));
    await clock.advance(waitMs);
    await vi.waitFor(() => expect(lists).toBeGreaterThan(before));
  }
  await vi.waitFor(() => expect(clock.pending).toBeGreaterThan(0));
}

describe("the ranges that a marker looks for", () => {
  it("are those in force of all pools, each address once", async () => {
    pools = [[C, A], undefined, [NEXT, A]];
    start();
    await read(1);
    expect(found).toEqual([["02:00:00:00:00:01-02:00:00:00:01:0f", C]]);
  });

  it("are read again from time to time, and told when they are others", async () => {
    pools = [[A]];
    start();
    await read(3);
    pools = [];
    await read(4);
    expect(found).toEqual([[A], []]);
  });

  it("are none where there is no such kind, and stay when they can't be read", async () => {
    refusal = new ApiError({ status: 404, reason: "NotFound", message: "no" });
    start();
    await read(1);
    refusal = undefined;
    pools = [[A]];
    await read(2);
    refusal = new ApiError({ status: 403, reason: "Forbidden", message: "no" });
    await read(3);
    expect(found).toEqual([[], [A]]);
  });

  it("are asked for again after a minute when they can't be read", async () => {
    refusal = new ApiError({ status: 500, reason: "InternalError", message: "no" });
    start();
    await read(1);
    await read(2, 60_000);
    expect(found).toEqual([]);
  });

  it("are told as numbers, with one of the node", () => {
    const range = { start: 1, end: 2 } as never;
    const [one, other] = ["node-a", "node-b"].map((node) => JSON.parse(stationQuery([range], node)));
    expect(one).toEqual({ ranges: [[1, 2]], seed: expect.any(Number) });
    expect(one.seed).not.toBe(other.seed);
  });
});
