import { describe, expect, it } from "vitest";
import { terminalOf } from "../../src/cli/terminal.ts";

const TTY = { isTTY: true, columns: 100 };
const UTF8 = { LANG: "en_US.UTF-8", TERM: "xterm-256color" };

describe("what the output goes to", () => {
  it.each([
    ["a terminal", TTY, UTF8, { columns: 100, colour: true, unicode: true }],
    ["a pipe or a file", {}, UTF8, { columns: undefined, colour: false, unicode: true }],
    ["a pipe that says a width", { columns: 100 }, UTF8, { columns: undefined, colour: false, unicode: true }],
    ["a terminal whose width is not known", { isTTY: true }, UTF8, { columns: 80, colour: true, unicode: true }],
    ["a terminal of no width", { isTTY: true, columns: 0 }, UTF8, { columns: 20, colour: true, unicode: true }],
  ])("%s", (_, stdout, env, terminal) => {
    expect(terminalOf(stdout, env)).toEqual(terminal);
  });

  it.each([
    ["NO_COLOR with any text", { NO_COLOR: "0" }, false],
    ["NO_COLOR without a text", { NO_COLOR: "" }, true],
    ["a dumb terminal", { TERM: "dumb" }, false],
  ])("colour: %s", (_, env, colour) => {
    expect(terminalOf(TTY, { ...UTF8, ...env }).colour).toBe(colour);
  });

  it.each([
    ["the locale of Debian", { LANG: "C.UTF-8" }, true],
    ["another spelling", { LANG: "de_DE.utf8" }, true],
    ["no locale", {}, false],
    ["the locale C", { LANG: "C" }, false],
    ["an older encoding", { LANG: "de_DE.ISO-8859-1" }, false],
    ["LC_CTYPE before LANG", { LC_CTYPE: "C", LANG: "en_US.UTF-8" }, false],
    ["LC_ALL before all", { LC_ALL: "en_US.UTF-8", LC_CTYPE: "C", LANG: "C" }, true],
    ["LC_ALL without a text", { LC_ALL: "", LANG: "en_US.UTF-8" }, true],
  ])("characters beyond ASCII: %s", (_, env, unicode) => {
    expect(terminalOf(TTY, env).unicode).toBe(unicode);
  });
});
