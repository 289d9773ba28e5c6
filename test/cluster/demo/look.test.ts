import { describe, expect, it } from "vitest";
import { duration, KEPT, type Look, lookOf, progressBar, renderEntry, renderProgress, wrap } from "./look.ts";

const plain: Look = { columns: 80, utf8: false, color: false };

describe("the demo's look", () => {
  it("keeps every line within 80 columns, whatever the text", () => {
    const lines = renderEntry(
      {
        label: "5 conflict",
        text: "VM web-2 with the same MAC is refused with the name of the one that has it and a way out of it",
        details: [`a-word-that-is-longer-than-any-line-${"x".repeat(120)}`, "short"],
        status: "ok",
        good: true,
        ms: 1234,
      },
      plain,
    );
    expect(lines.length).toBeGreaterThan(3);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    expect(lines[0]).toMatch(/^5 conflict {7}VM web-2 .* ok +1\.2 s$/);
  });

  it("shows plain ASCII where the terminal is not UTF-8", () => {
    const entry = { label: "4 web", text: "net1 → 02:… ↔ ü", status: "ok", good: true };
    expect(renderEntry(entry, plain)[0]).toContain("net1 -> 02:... <-> ?");
    expect(renderEntry(entry, { ...plain, utf8: true })[0]).toContain("net1 → 02:… ↔ ü");
  });

  it("colours nothing without a terminal, with NO_COLOR or with TERM=dumb", () => {
    const tty = { isTTY: true, columns: 100 };
    expect(lookOf({ LANG: "en_US.UTF-8" }, tty)).toEqual({ columns: 100, utf8: true, color: true });
    expect(lookOf({ NO_COLOR: "1" }, tty).color).toBe(false);
    expect(lookOf({ TERM: "dumb" }, tty).color).toBe(false);
    expect(lookOf({}, {})).toEqual({ columns: 80, utf8: false, color: false });
    const entry = { label: "1", text: "x", status: "ok", good: true };
    expect(renderEntry(entry, plain).join("")).not.toContain("\u001b");
    expect(renderEntry(entry, { ...plain, color: true }).join("")).toContain("\u001b[32m");
  });

  it("prefers LC_ALL to LC_CTYPE to LANG", () => {
    expect(lookOf({ LC_ALL: "C", LANG: "en_US.UTF-8" }, {}).utf8).toBe(false);
    expect(lookOf({ LC_CTYPE: "C.UTF-8", LANG: "C" }, {}).utf8).toBe(true);
  });

  it("draws a bar from empty to full", () => {
    expect([0, 0.5, 1, 7].map((fraction) => progressBar(fraction, 12))).toEqual([
      "[          ]",
      "[====>     ]",
      "[==========]",
      "[==========]",
    ]);
  });

  it("cuts a line under way to the width of the terminal", () => {
    const line = renderProgress("control plane", "building ".repeat(20), 0.61, plain);
    expect(line.length).toBeLessThan(80);
    expect(line).toMatch(/\.\.\. \[=+> +\] 61%$/);
  });

  it("wraps at words and cuts what has none", () => {
    expect(wrap("aa bb cccccc", 5)).toEqual(["aa bb", "ccccc", "c"]);
    expect(wrap("", 5)).toEqual([""]);
    expect(wrap("a b\nc", 5)).toEqual(["a b", "c"]);
    expect(wrap(`web${KEPT}2/2 db${KEPT}1/1`, 8)).toEqual(["web 2/2", "db 1/1"]);
  });

  it("keeps the columns of a command's output and breaks what is too long at a space", () => {
    const long = `  origin      ${"automatic ".repeat(9)}`.trimEnd();
    const lines = renderEntry({ label: "6", text: "", output: ["A   B", long], status: "ok", good: true }, plain);
    expect(lines.slice(1, 2)).toEqual(["    A   B"]);
    expect(lines[2]).toMatch(/^ {6}origin {6}automatic .* automatic$/);
    expect(lines[3]).toMatch(/^ {8}automatic/);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  });

  it("says durations as people do", () => {
    expect([84.4, 3100, 125_000].map(duration)).toEqual(["84 ms", "3.1 s", "2 min 5 s"]);
  });
});
