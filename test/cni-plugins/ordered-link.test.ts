import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { FUNCTIONS_BY_USE, orderedSymbols, stableName } from "../../cni-plugins/ordered-link.ts";
import { byUse, functionsUsed } from "../bench/cni-function-use.ts";

it.each([
  ["JS_CallInternal", "JS_CallInternal"],
  ["_ZN8cni_host3sys4exit17h0123456789abcdefE", "_ZN8cni_host3sys4exitE"],
  ["_ZN8cni_host3sys4exit17h0123456789abcdefE.llvm.123456", "_ZN8cni_host3sys4exitE"],
  ["_RNvNtNtCsjrHSEGnQ3l9_3std3sys4exit", "_RNvNtNtC3std3sys4exit"],
  ["get_Cs_of", "get_Cs_of"],
])("%s is listed as %s", (symbol, name) => {
  expect(stableName(symbol)).toBe(name);
});

it("orders symbols as their names are listed, all of one name together", () => {
  const other = ["_ZN1a1f17h0000000000000000E", "_ZN1b1f17h1111111111111111E", "main", "_ZN1a1f17h2222222222222222E"];
  expect(orderedSymbols(other, ["# a heading", "main", "gone", "_ZN1a1fE"])).toEqual([
    "main",
    "_ZN1a1f17h0000000000000000E",
    "_ZN1a1f17h2222222222222222E",
  ]);
});

it("takes the names of functions that ran or were called from a profile, once each and without those that have none", () => {
  const profile = [
    "version: 1",
    "fl=(1) ???",
    "fn=(1) main",
    "0 12",
    "cfn=(2) _ZN1a1f17h0000000000000000E",
    "calls=1 0",
    "0 99",
    "fn=(3) _ZN1a1f17h0000000000000000E'2",
    "fn=(2)",
    "0 7",
    "fn=(4) 0x0000000000444a78",
    "0 1",
  ].join("\n");
  expect(functionsUsed(profile)).toEqual(["main", "_ZN1a1fE"]);
});

it("puts first what most kinds of calls use", () => {
  expect(byUse([new Set(["c", "b"]), new Set(["a", "b"]), new Set(["b", "c"])])).toEqual(["b", "c", "a"]);
});

it("has a list in which no name stands twice, each as the linker compares it", () => {
  const [heading = "", ...names] = readFileSync(FUNCTIONS_BY_USE, "utf8").trimEnd().split("\n");
  expect(heading).toMatch(/^# /);
  expect(names).toContain("JS_CallInternal");
  expect(names.length).toBe(new Set(names).size);
  expect(names.map(stableName)).toEqual(names);
});
