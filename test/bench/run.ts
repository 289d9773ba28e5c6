/**
 * `npm run bench -- NAME [--short] [--json]`: measures, prints a table of ours against the peer, and with `--json` ends in one line
 * `{"name", "rows": [...]}`. Exits 0 whether goals are met or not, 1 when it could not measure, 2 for a wrong argument.
 */

import { readdir } from "node:fs/promises";
import { parseArgs } from "node:util";
import { type Bench, BenchFault, formatTable } from "./bench.ts";

const SUFFIX = ".bench.ts";

async function main(): Promise<number> {
  const names = (await readdir(import.meta.dirname))
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => file.slice(0, -SUFFIX.length));
  const usage = `usage: npm run bench -- NAME [--short] [--json]\nNAME is one of: ${names.join(", ")}`;
  const { name, short, json, fault } = readArguments();
  if (fault !== undefined || name === undefined || !names.includes(name)) {
    console.error(fault ?? (name === undefined ? "which benchmark?" : `there is no benchmark "${name}"`));
    console.error(usage);
    return 2;
  }
  const { bench }: { bench: Bench } = await import(`./${name}${SUFFIX}`);
  console.log(`${name}: ${bench.about}\n`);
  // With this set, Node and other programs read a whole file of certificates when they start.
  const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
  const rows = await bench.run({ env, short, log: (line) => console.error(line) });
  console.log(formatTable(rows));
  if (json) console.log(JSON.stringify({ name, rows }));
  return 0;
}

function readArguments(): { name?: string | undefined; short: boolean; json: boolean; fault?: string } {
  try {
    const { positionals, values } = parseArgs({
      allowPositionals: true,
      options: { json: { type: "boolean", default: false }, short: { type: "boolean", default: false } },
    });
    const [name, ...more] = positionals;
    return { name, ...values, ...(more.length > 0 ? { fault: "one benchmark at a time" } : {}) };
  } catch (error) {
    return { short: false, json: false, fault: error instanceof Error ? error.message : String(error) };
  }
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof BenchFault ? error.message : error);
  return 1;
});
