import { describe, expect, it } from "vitest";
import { createLogger } from "../../../src/kube/process/logger.ts";
import { ManualClock } from "../support/manual-clock.ts";

function logged(act: (log: ReturnType<typeof createLogger>) => void): string {
  let text = "";
  const destination = {
    write: (line: string): void => {
      text += line;
    },
  };
  act(createLogger({ name: "test", level: "debug", destination }));
  return text;
}

describe("the log of a process", () => {
  it("has lines that are no longer than somebody can read, whatever errors and strangers say", () => {
    const long = "x".repeat(1024 * 1024);
    const text = logged((log) => {
      log.info({ object: long, code: 7 }, long);
      log.error({ err: Object.assign(new Error(long), { details: { causes: [long, long] } }) }, "failed");
      log.warn({ parties: Array.from({ length: 10_000 }, (_, index) => `party ${index}`) }, "collision");
      log.child({ part: "a" }).warn(long);
    });
    const lines = text.trim().split("\n");
    expect(lines).toHaveLength(4);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(15_000);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      code: 7,
      level: "info",
      msg: expect.stringMatching(/^x+\.\.\.$/),
    });
    expect(JSON.parse(lines[1] ?? "")).toMatchObject({ err: { type: "Error" }, msg: "failed" });
  });

  it("has short lines as they were written", () => {
    const text = logged((log) => log.info({ object: "web", token: "secret" }, "%s is refused", "it"));
    expect(JSON.parse(text)).toMatchObject({ object: "web", token: "[redacted]", msg: "it is refused" });
  });

  it("has a burst as a whole, and of a flood as much as a disk has room for", async () => {
    const lines: string[] = [];
    const clock = new ManualClock();
    const log = createLogger({ name: "test", destination: { write: (line) => lines.push(line) }, clock });
    const flood = (): void => {
      for (let index = 0; index < 10_000; index++) log.error({ err: new Error("no answer") }, "could not be claimed");
    };
    flood();
    log.warn("another sentence");
    expect(lines).toHaveLength(1_001);
    await clock.advance(1_000);
    flood();
    expect(lines).toHaveLength(1_011);
    expect(JSON.parse(lines[1_001] ?? "")).toMatchObject({ msg: "could not be claimed", leftOut: 9_000 });
    expect(lines.at(-1)).not.toContain("leftOut");
    await clock.advance(100);
    log.error("could not be claimed");
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ msg: "could not be claimed", leftOut: 9_990 });
  });

  it("has all of what is written for those who look, and the last line of a process", () => {
    const text = logged((log) => {
      for (let index = 0; index < 2_000; index++) log.debug({ index }, "reconciled");
      for (let index = 0; index < 2_000; index++) log.fatal({ index }, "failed");
    });
    expect(text.trim().split("\n")).toHaveLength(4_000);
  });
});
