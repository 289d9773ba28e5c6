import { expect, it } from "vitest";
import { BoundedLog } from "../../src/kube/bounded-log.ts";
import { silentLog } from "../../src/kube/log.ts";
import { ManualClock } from "./support/manual-clock.ts";

it("logs of a flood as many lines as somebody can read, and how many were left out", async () => {
  const lines: unknown[] = [];
  const info = (...line: unknown[]): number => lines.push(line);
  const clock = new ManualClock();
  const log = new BoundedLog({ log: { ...silentLog, info }, clock, level: "info", about: "refusals" });
  for (let index = 0; index < 1000; index++) log.add({ index }, "refused");
  expect(lines).toHaveLength(10);
  await clock.advance(1000);
  log.add({ index: 1000 }, "refused");
  expect(lines.slice(10)).toEqual([
    [{ leftOut: 990 }, "more refusals, which are counted and not logged"],
    [{ index: 1000 }, "refused"],
  ]);
});
