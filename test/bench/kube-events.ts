/** Both informers under the same changes at a steady rate, and before that idle for as long. */

import type { ChildProcess } from "node:child_process";
import { loadavg } from "node:os";
import { type BenchRow, mayBeNone, row } from "./bench.ts";
import type { StoredClaims } from "./kube-claims.ts";
import { answeredRequests, counts, type Setup, start } from "./kube-sides.ts";
import type { Counts } from "./kube-subject.ts";
import { type Traffic, trafficSince } from "./kube-traffic.ts";

const EVENTS_PER_SECOND = 1_000;
const CATCH_UP_DEADLINE_MS = 60_000;
/** CPU times are logged so often: one dear window is a disturbance, all of them are what events cost. */
const WINDOW_MS = 10_000;

interface Pair<A> {
  readonly ours: A;
  readonly peer: A;
}

export async function measureEvents(setup: Setup, stored: StoredClaims): Promise<BenchRow[]> {
  const { context, seconds, claims } = setup;
  const idleMs = Math.min(seconds, 30) * 1000;
  const { children, requests } = await startIdle(setup, idleMs);
  const before = await both(children);
  context.log(`${EVENTS_PER_SECOND} changes a second for ${seconds} s`);
  const windows = logWindows(setup, children, before);
  const { changes, ms } = await stored.change({ claims, perSecond: EVENTS_PER_SECOND, seconds });
  clearInterval(windows);
  const after = await caughtUp(children, before, changes);
  children.ours.disconnect();
  children.peer.disconnect();
  const got = (side: keyof Pair<Counts>) => after[side].events - before[side].events;
  const cpuMs = (side: keyof Pair<Counts>) => after[side].cpuMs - before[side].cpuMs;
  const traffic = {
    ours: trafficSince(before.ours.traffic, after.ours.traffic),
    peer: trafficSince(before.peer.traffic, after.peer.traffic),
  };
  const meanwhile = (what: string, unit: BenchRow["unit"], name: keyof Traffic) =>
    row(`  ${what} meanwhile`, unit, traffic.ours[name], traffic.peer[name], null);
  context.log(`${changes} changes in ${(ms / 1000).toFixed(1)} s; ours saw ${got("ours")}, peer ${got("peer")}`);
  return [
    row(`requests in ${idleMs / 1000} idle seconds`, "requests", requests.ours, requests.peer, null),
    row("changes made a second", "ops/s", (changes * 1000) / ms, null, null),
    row(`changes lost of ${changes}`, "events", changes - got("ours"), changes - got("peer"), null),
    row("  CPU time for them", "ms", cpuMs("ours"), cpuMs("peer"), 0.9),
    meanwhile("lists begun", "requests", "lists"),
    meanwhile("watches begun", "requests", "watches"),
    meanwhile("received", "MB", "receivedMb"),
    mayBeNone(meanwhile("collecting garbage", "ms", "collectingMs")),
    meanwhile("collections of the whole heap", "times", "fullCollections"),
  ];
}

/** Both sides, synced; the requests of each are counted while it alone is there and nothing happens. */
async function startIdle(
  setup: Setup,
  idleMs: number,
): Promise<{ children: Pair<ChildProcess>; requests: Pair<number> }> {
  const requests = { ours: 0, peer: 0 };
  const children: ChildProcess[] = [];
  for (const side of ["ours", "peer"] as const) {
    const [child] = await start(setup, side);
    const before = await answeredRequests(setup.client);
    await new Promise((resolve) => setTimeout(resolve, idleMs));
    requests[side] = (await answeredRequests(setup.client)) - before;
    // The peer's next watch may come at any time; ours is started anew so that both are as old.
    if (side === "ours") child.disconnect();
    else children.push(child);
  }
  const [peer] = children;
  const [ours] = await start(setup, "ours");
  if (!peer) throw new Error("both sides must run");
  return { children: { ours, peer }, requests };
}

async function both({ ours, peer }: Pair<ChildProcess>): Promise<Pair<Counts>> {
  return { ours: await counts(ours), peer: await counts(peer) };
}

function logWindows({ context }: Setup, children: Pair<ChildProcess>, before: Pair<Counts>): NodeJS.Timeout {
  let last = before;
  return setInterval(async () => {
    const now = await both(children);
    const used = (side: keyof Pair<Counts>) => (now[side].cpuMs - last[side].cpuMs).toFixed(0);
    const load = loadavg()[0]?.toFixed(1);
    context.log(`  CPU ms in ${WINDOW_MS / 1000} s: ours ${used("ours")}, peer ${used("peer")}; load ${load}`);
    last = now;
  }, WINDOW_MS);
}

async function caughtUp(children: Pair<ChildProcess>, before: Pair<Counts>, changes: number): Promise<Pair<Counts>> {
  const deadlineMs = performance.now() + CATCH_UP_DEADLINE_MS;
  for (;;) {
    const now = await both(children);
    const fewest = Math.min(now.ours.events - before.ours.events, now.peer.events - before.peer.events);
    if (fewest >= changes || performance.now() > deadlineMs) return now;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
