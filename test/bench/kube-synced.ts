/** How long the sides take to have all MACClaims, in how much memory, and how much of it is the API server. */

import { loadavg } from "node:os";
import { type BenchRow, row } from "./bench.ts";
import { median } from "./cni-timer.ts";
import { collectServerGarbage, type Setup, type Side, serverCpuMs, start } from "./kube-sides.ts";
import type { Synced } from "./kube-subject.ts";

/** Bare undici throws the list away: what is left is the API server, and the floor for who lists in that way. */
const SIDES: readonly Side[] = ["ours", "bare", "peer"];
/** Ways to list that are not the normal one: shown beside it, in fewer rounds. */
const OTHER_SIDES: readonly Side[] = ["ours-pages", "bare-plain"];
const OTHER_ROUNDS = 2;

type Sample = Pick<Synced, Exclude<keyof Synced, "traffic">> & {
  readonly receivedMb: number;
  readonly serverCpuMs: number;
};

export async function measureSync(setup: Setup): Promise<BenchRow[]> {
  const samples = new Map<Side, Sample[]>();
  for (let round = 0; round < setup.rounds; round++) {
    // Who comes after others finds a warmer server: they change places.
    const sides = round % 2 === 0 ? SIDES : SIDES.toReversed();
    for (const side of round < OTHER_ROUNDS ? [...sides, ...OTHER_SIDES] : sides) {
      const sample = await measureSide(setup, side);
      samples.set(side, [...(samples.get(side) ?? []), sample]);
    }
  }
  const of = (side: Side, field: keyof Sample) => median(samples.get(side)?.map((sample) => sample[field]) ?? []);
  const compare = (
    what: string,
    unit: BenchRow["unit"],
    field: keyof Sample,
    goal: number | null = null,
    side: Side = "ours",
  ) => row(what, unit, of(side, field), of("peer", field), goal);
  return [
    compare(`${setup.claims} claims: time to synced`, "ms", "ms", 0.9),
    compare("  the same by pages", "ms", "ms", null, "ours-pages"),
    compare("  the floor: bare undici throws the list away", "ms", "ms", null, "bare"),
    compare("  the floor, not compressed", "ms", "ms", null, "bare-plain"),
    compare("  CPU time of the informer", "ms", "cpuMs"),
    compare("  CPU time of the floor", "ms", "cpuMs", null, "bare"),
    compare("  CPU time of the API server meanwhile", "ms", "serverCpuMs"),
    compare("  received", "MB", "receivedMb"),
    compare("  longest turn of the event loop", "ms", "longestTurnMs"),
    compare("  heap after GC", "MB", "heapMb", 0.7),
    compare("  heap before the first request", "MB", "heapBeforeMb"),
    compare("  largest resident set", "MB", "peakRssMb"),
    compare("  largest resident set by pages", "MB", "peakRssMb", null, "ours-pages"),
  ];
}

async function measureSide(setup: Setup, side: Side): Promise<Sample> {
  await collectServerGarbage(setup.client);
  const beforeMs = await serverCpuMs(setup.client);
  const [child, { traffic, ...synced }] = await start(setup, side);
  child.disconnect();
  const sample = {
    ...synced,
    receivedMb: traffic.receivedMb,
    serverCpuMs: (await serverCpuMs(setup.client)) - beforeMs,
  };
  const [ms, cpuMs, serverMs, heapMb] = [sample.ms, sample.cpuMs, sample.serverCpuMs, sample.heapMb].map(Math.round);
  const load = loadavg()[0]?.toFixed(1);
  setup.context.log(
    `${side}: ${ms} ms, CPU ${cpuMs} ms, of the API server ${serverMs} ms, heap ${heapMb} MB; load ${load}`,
  );
  return sample;
}
