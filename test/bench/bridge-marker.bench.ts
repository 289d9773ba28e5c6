/** What the bridge marker costs a node, and how late it is: its bundle on a real kernel and a real API server. */

import { setTimeout as sleep } from "node:timers/promises";
import { linkStorm } from "../bridge-marker/link-storm.ts";
import {
  type Bench,
  type BenchContext,
  type BenchRow,
  limitedRow,
  mayBeNone,
  median,
  percentile,
  row,
} from "./bench.ts";
import { measureInjection } from "./injection.ts";
import { MarkerBenchHarness } from "./marker-bench-harness.ts";
import { NAMESPACES } from "./needs.ts";

const ROUNDS = 200;
const SHORT_ROUNDS = 20;
const SECONDS = 60;
const SHORT_SECONDS = 10;
const SUCCESSES = 'bridge_marker_patches_total{result="success"}';

export const bench: Bench = {
  about: "the bridge marker with its link monitor, and the injection: delay, memory, work at rest and in a storm",
  needs: NAMESPACES,
  async run(context) {
    return [...(await measureMarker(context)), ...(await measureInjection(context))];
  },
};

async function measureMarker({ short, log }: BenchContext): Promise<BenchRow[]> {
  await using harness = await MarkerBenchHarness.start(log);
  const seconds = short ? SHORT_SECONDS : SECONDS;
  log(`${seconds} s of idleness`);
  const idle = await idleRows(harness, seconds);
  const rounds = short ? SHORT_ROUNDS : ROUNDS;
  log(`${rounds} bridges`);
  const delays = await delayRows(harness, rounds);
  log(`${seconds} s of 1,000 link events a second`);
  const storm = await stormRows(harness, seconds);
  return [...delays, ...idle, ...storm];
}

async function idleRows(harness: MarkerBenchHarness, seconds: number): Promise<BenchRow[]> {
  // What a start does later than its first patch, such as a certificate for metrics.
  await sleep(5_000);
  const [requests, cpuMs] = [await harness.requests(), harness.cpuMs];
  await sleep(seconds * 1000);
  return [
    limitedRow("resident set of marker and link monitor", "MB", harness.residentMb, null, 60),
    limitedRow(`idle: requests in ${seconds} s`, "requests", (await harness.requests()) - requests, null, 0),
    mayBeNone(
      limitedRow("idle: CPU time a second (0.1 % of a core)", "ms", (harness.cpuMs - cpuMs) / seconds, null, 1),
    ),
  ];
}

async function delayRows(harness: MarkerBenchHarness, rounds: number): Promise<BenchRow[]> {
  const { namespace } = harness.node;
  const delaysMs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const name = `b${round}`;
    const startedAt = performance.now();
    await namespace.run("ip", "link", "add", name, "type", "bridge");
    await harness.shows(name);
    delaysMs.push(performance.now() - startedAt);
    await namespace.run("ip", "link", "del", name);
    await harness.node.publishes("br1");
  }
  return [
    row("ip link add to the bridge in the node's status: median", "ms", median(delaysMs), null, null),
    limitedRow("ip link add to the bridge in the node's status: p99", "ms", percentile(delaysMs, 0.99), null, 1000),
  ];
}

async function stormRows(harness: MarkerBenchHarness, seconds: number): Promise<BenchRow[]> {
  const storm = await linkStorm(harness.node.namespace);
  await harness.node.publishes("br1", ...storm.bridges);
  const patches = await harness.node.metric(SUCCESSES);
  const cpuMs = harness.cpuMs;
  const startedAt = performance.now();
  await storm.rage(seconds);
  const tookSeconds = (performance.now() - startedAt) / 1000;
  const usedMs = harness.cpuMs - cpuMs;
  await harness.node.publishes("br1", ...storm.bridges);
  const residentMb = harness.residentMb;
  const written = (await harness.node.metric(SUCCESSES)) - patches;
  return [
    row("1,000 link events a second: resident set", "MB", residentMb, null, null),
    limitedRow("1,000 link events a second: patches", "ops/s", written / tookSeconds, null, 5),
    limitedRow("1,000 link events a second: CPU time a second (5 % of a core)", "ms", usedMs / tookSeconds, null, 50),
  ];
}
