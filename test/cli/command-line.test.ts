import { describe, expect, it } from "vitest";
import { GLOBAL_OPTIONS, parseCommandLine, UsageError } from "../../src/cli/command-line.ts";
import { COMMANDS } from "../../src/cli/command-table.ts";

describe("a command line", () => {
  it("takes options before, between and after the arguments, in every notation that kubectl takes", () => {
    for (const argv of [
      ["find", "web", "-n", "lab", "-o", "json"],
      ["-nlab", "find", "-ojson", "web"],
      ["--namespace=lab", "find", "web", "--output=json"],
      ["find", "-n=lab", "web", "-o=json"],
      ["find", "--namespace", "lab", "--output", "json", "web"],
      ["-n", "other", "-n", "lab", "-o", "json", "find", "--", "web"],
    ]) {
      const { command, args, options } = parseCommandLine(argv);
      expect({ command, args, options }, argv.join(" ")).toMatchObject({
        command: "find",
        args: ["web"],
        options: { namespace: "lab", output: "json", allNamespaces: false, noHeaders: false, help: false },
      });
    }
  });

  it("keeps what follows -- as it is", () => {
    expect(parseCommandLine(["find", "--", "-n"]).args).toEqual(["-n"]);
  });

  it("reads switches, alone and together with a value", () => {
    expect(parseCommandLine(["list", "-A", "--no-headers", "-h"]).options).toMatchObject({
      allNamespaces: true,
      noHeaders: true,
      help: true,
      output: "table",
    });
    expect(parseCommandLine(["list", "-Aowide"]).options).toMatchObject({ allNamespaces: true, output: "wide" });
  });

  it.each([
    [["list", "--frob"], "Unknown option '--frob': see kubectl macpool --help"],
    [["list", "--namspace", "lab"], "Unknown option '--namspace': did you mean --namespace?"],
    [["list", "-l", "x=y"], "Unknown option '-l': see kubectl macpool --help"],
    [["list", "--selector=x=y"], "Unknown option '--selector': see kubectl macpool --help"],
    [["list", "-z"], "Unknown option '-z': see kubectl macpool --help"],
    [["list", "-n"], "Option '-n, --namespace <value>' argument missing: see kubectl macpool --help"],
    [
      ["list", "--all-namespaces=no"],
      "Option '-A, --all-namespaces' does not take an argument: see kubectl macpool --help",
    ],
    [["list", "-o", "xml"], 'unknown output "xml": use one of table, wide, json, yaml, name, jsonpath=...'],
    [
      ["list", "-o", "jsonpath={.items"],
      '"{.items" is not a JSONPath template of kubectl: it is not understood from "{.items" on',
    ],
    [
      ["list", "-ojsonpath={items}"],
      '"{items}" is not a JSONPath template of kubectl: it is not understood from "items" on',
    ],
    [["list", "-o=jsonpath={end}"], '"{end}" is not a JSONPath template of kubectl: {end} has no {range}'],
    [
      ["list", "-o", "jsonpath={range .items[*]}"],
      '"{range .items[*]}" is not a JSONPath template of kubectl: {range} has no {end}',
    ],
    [
      ["list", "-o", "jsonpath={.items[?(@.a || @.b)]}"],
      '"{.items[?(@.a || @.b)]}" is not a JSONPath template of kubectl: ' +
        "[?(@.a || @.b)] is none of *, 0, -1, 1:3, 'name', 'a','b' and ?(@.name==\"value\")",
    ],
  ])("is refused in one sentence: %j", (argv, message) => {
    expect(() => parseCommandLine(argv)).toThrow(new UsageError(message));
  });

  it("has no option of a command that means something else everywhere", () => {
    const globals = GLOBAL_OPTIONS.flatMap(({ name, short }) => [name, short ?? name]);
    const own = COMMANDS.flatMap(({ options = [] }) => options.flatMap(({ name, short }) => [name, short ?? name]));
    expect(own.filter((name) => globals.includes(name))).toEqual([]);
  });
});
