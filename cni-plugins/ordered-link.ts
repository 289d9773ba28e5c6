/**
 * The linker of the plugins, in the place of `cc`: links, and links again with the functions that calls use side by side. A
 * process maps what it runs in pieces of 64 KiB, each by a page fault, and gives back what was mapped. Decision 023.
 *
 * The names of Rust's functions end in a hash that changes with the compiler, so the first link says what they are
 * now. Only lld takes an order by symbols; other linkers link once.
 */

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { functionsOf } from "./elf-symbols.ts";

/** Names as `stableName` gives them, the first ones of the executable first. */
export const FUNCTIONS_BY_USE = path.join(import.meta.dirname, "host/functions-by-use.txt");

const LLD = "-fuse-ld=lld";

/** A symbol without what another compiler, or another version of a crate, makes different in it. */
export function stableName(symbol: string): string {
  return symbol
    .replace(/\.llvm\.\d+$/, "")
    .replace(/17h[0-9a-f]{16}E$/, "E")
    .replace(/Cs[0-9A-Za-z]+_(?=\d)/g, "C");
}

/** Those of `symbols` whose stable names are listed, in the list's order. */
export function orderedSymbols(symbols: Iterable<string>, listed: readonly string[]): readonly string[] {
  const byName = new Map<string, string[]>();
  for (const symbol of symbols) {
    const name = stableName(symbol);
    byName.set(name, [...(byName.get(name) ?? []), symbol]);
  }
  return listed.flatMap((name) => byName.get(name) ?? []);
}

/** `args` as `cc` takes them. The exit code of the link that failed, or 0. */
export function link(args: readonly string[], list = FUNCTIONS_BY_USE): number {
  const code = cc(args);
  const output = args[args.indexOf("-o") + 1];
  if (code !== 0 || output === undefined || !args.includes("-o") || !args.includes(LLD)) return code;
  const listed = readFileSync(list, "utf8").split("\n");
  const symbols = Array.from(functionsOf(readFileSync(output)), ({ name }) => name);
  const order = `${output}.order`;
  writeFileSync(order, `${orderedSymbols(symbols, listed).join("\n")}\n`);
  return cc([...args, `-Wl,--symbol-ordering-file=${order}`, "-Wl,--no-warn-symbol-ordering"]);
}

function cc(args: readonly string[]): number {
  const { status, error } = spawnSync("cc", args, { stdio: "inherit" });
  if (error !== undefined) throw error;
  return status ?? 1;
}

if (import.meta.main) process.exitCode = link(process.argv.slice(2));
