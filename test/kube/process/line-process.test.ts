import { expect, it } from "vitest";
import { type Clock, systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { ProcessInput, runLineProcess } from "../../../src/kube/process/line-process.ts";

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

it("tells a program at each start what it was told last, and at once what is new", async () => {
  const [input, stop] = [new ProcessInput(), new AbortController()];
  const printed: string[] = [];
  input.set("one\n");
  const args = ["-c", 'read one && echo "$one" && read two && echo "$two"'];
  const program = { name: "it", command: "/bin/sh", args, onStart: () => undefined, input };
  const onLine = (line: string) => {
    printed.push(line);
    // The program ends with its second line.
    if (printed.length === 1) input.set("two\n");
    if (printed.length === 3) stop.abort();
    return "settled" as const;
  };
  const clock: Clock = { ...systemClock, sleep: async () => undefined };
  await runLineProcess({ ...program, onLine, clock, log: silentLog }, stop.signal);
  expect(printed).toEqual(["one", "two", "two"]);
});
