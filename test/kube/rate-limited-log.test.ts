import { describe, expect, it } from "vitest";
import { silentLog } from "../../src/kube/log.ts";
import { RateLimitedLog } from "../../src/kube/rate-limited-log.ts";
import { ManualClock } from "./support/manual-clock.ts";

function flooded() {
  const lines: unknown[] = [];
  const info = (...line: unknown[]): number => lines.push(line);
  const clock = new ManualClock();
  const log = new RateLimitedLog({ log: { ...silentLog, info }, clock, level: "info", about: "refusals" });
  for (let index = 0; index < 1000; index++) log.add({ index }, "refused");
  return { lines, clock, log };
}

const LEFT_OUT = [{ leftOut: 990 }, "more refusals, which are counted and not logged"];

describe("the log of a flood", () => {
  it("has as many lines as somebody can read, and how many were left out", async () => {
    const { lines, clock, log } = flooded();
    expect(lines).toHaveLength(10);
    await clock.advance(1000);
    log.add({ index: 1000 }, "refused");
    expect(lines.slice(10)).toEqual([LEFT_OUT, [{ index: 1000 }, "refused"]]);
  });

  it("says how many were left out when none follows, and that once", async () => {
    const { lines, clock } = flooded();
    await clock.advance(999);
    expect(lines).toHaveLength(10);
    await clock.advance(1);
    expect(lines.slice(10)).toEqual([LEFT_OUT]);
    await clock.advance(10_000);
    expect(lines).toHaveLength(11);
  });

  it("says of each second how many were left out", async () => {
    const { lines, clock, log } = flooded();
    await clock.advance(1000);
    for (let index = 0; index < 12; index++) log.add({ index }, "refused");
    await clock.advance(1000);
    expect(lines).toHaveLength(22);
    expect(lines.at(-1)).toEqual([{ leftOut: 2 }, LEFT_OUT[1]]);
  });
});
