import { describe, expect, it } from "vitest";
import { createLogger } from "../../../src/kube/process/logger.ts";

function logged(act: (log: ReturnType<typeof createLogger>) => void): string {
  let text = "";
  const destination = {
    write: (line: string): void => {
      text += line;
    },
  };
  act(createLogger({ name: "test", destination }));
  return text;
}

describe("the log of a process", () => {
  it("has lines that are no longer than somebody can read, whatever errors and strangers say", () => {
    const long = "x".repeat(1024 * 1024);
    const text = logged((log) => {
      log.info({ object: long, code: 7 }, long);
      log.error({ err: new Error(long) }, "failed");
      log.child({ part: "a" }).warn(long);
    });
    const lines = text.trim().split("\n");
    expect(lines).toHaveLength(3);
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
});
