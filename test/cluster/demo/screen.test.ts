import { describe, expect, it } from "vitest";
import type { Look } from "./look.ts";
import { Screen } from "./screen.ts";

const look: Look = { columns: 80, utf8: false, color: false };

function recorder(isTTY: boolean): { isTTY: boolean; text: string; write(chunk: string): void } {
  return {
    isTTY,
    text: "",
    write(chunk) {
      this.text += chunk;
    },
  };
}

describe("the demo's screen", () => {
  it("overwrites the line under way on a terminal and leaves the finished one", () => {
    const output = recorder(true);
    const screen = new Screen(output, look);
    screen.progress("nodes", "starting");
    screen.end({ label: "nodes", text: "node-a node-b", status: "ready", good: true, ms: 1200 });
    const last = output.text.split("\u001b[2K").at(-1) ?? "";
    expect(last).toMatch(/^nodes +node-a node-b +ready +1\.2 s\n$/);
  });

  it("writes no control characters into a stream, and a bar now and then only", () => {
    const output = recorder(false);
    let nowMs = 0;
    const screen = new Screen(output, look, () => nowMs);
    screen.progress("nodes", "starting");
    for (let percent = 0; percent <= 100; percent++) {
      screen.progress("control plane", "building", percent / 100);
      nowMs += 1000;
    }
    screen.end({ label: "control plane", text: "built", status: "ready", good: true });
    for (const control of ["\r", "\u001b"]) expect(output.text).not.toContain(control);
    expect(output.text.split("\n").filter((line) => line.includes("building"))).toHaveLength(7);
    expect(output.text).not.toContain("starting");
  });
});
