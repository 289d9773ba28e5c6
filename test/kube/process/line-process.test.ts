import { expect, it } from "vitest";
import { type Clock, systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { runLineProcess } from "../../../src/kube/process/line-process.ts";

const STARTS = 4;

/** How long each start was waited for, of a program that says that it works and ends. Between two looks at the clock `ranMs` pass. */
async function waitsOf(ranMs: number): Promise<number[]> {
  const waits: number[] = [];
  const stop = new AbortController();
  let time = 0;
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => {
      time += ranMs;
      return time;
    },
    sleep: async (ms) => {
      waits.push(ms);
      if (waits.length === STARTS) stop.abort();
    },
  };
  const program = { name: "it", command: "/bin/echo", args: ["works"], onStart: () => undefined };
  await runLineProcess({ ...program, onLine: () => "settled", clock, log: silentLog }, stop.signal);
  return waits;
}

it("waits ever longer for a program that soon ends, although it works", async () => {
  expect(await waitsOf(1)).toEqual([100, 200, 400, 800]);
});

it("starts a program at once that had worked for long", async () => {
  expect(await waitsOf(60_000)).toEqual([100, 100, 100, 100]);
});
