/**
 * `npm run bench -- NAME [--short] [--json] [--nodes N]`: measures, prints a table of ours against the peer, and with `--json` ends in
 * one line `{"name", "rows": [...]}`. Exits 0 when every goal is met, 1 when one is missed or nothing could be measured, 2
 * for a wrong argument.
 */

import { readdir } from "node:fs/promises";
import { readFlags } from "../../cni-plugins/build/flags.ts";
import { BuildError } from "../../cni-plugins/build/toolchain.ts";
import { MissingRequirement } from "../cluster/requirements.ts";
import { providePrograms } from "../tools/debian/programs.ts";
import { type Bench, BenchFault, formatTable, measuresNothing, missingOf } from "./bench.ts";

const SUFFIX = ".bench.ts";

async function main(): Promise<number> {
  const names = (await readdir(import.meta.dirname))
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => file.slice(0, -SUFFIX.length));
  const usage = `usage: npm run bench -- NAME [--short] [--json] [--nodes N]\nNAME is one of: ${names.join(", ")}`;
  const { name, short, json, nodes, fault } = readArguments();
  if (fault !== undefined || name === undefined || !names.includes(name)) {
    console.error(fault ?? (name === undefined ? "which benchmark?" : `there is no benchmark "${name}"`));
    console.error(usage);
    return 2;
  }
  const { bench }: { bench: Bench } = await import(`./${name}${SUFFIX}`);
  if (nodes !== undefined && bench.takesNodes !== true) {
    console.error(`the benchmark ${name} has no nodes`);
    return 2;
  }
  const programs = bench.needs.flatMap((need) => need.programs);
  process.env.PATH = (await providePrograms(process.env, (line) => console.error(line), programs)).path;
  const lacking = missingOf(bench.needs, process.env);
  if (lacking.length > 0) throw new BenchFault(lacking.join("\n"));
  console.log(`${name}: ${bench.about}\n`);
  // With this set, Node and other programs read a whole file of certificates when they start.
  const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
  const rows = await bench.run({
    ...{ env, short, log: (line) => console.error(line) },
    ...(nodes === undefined ? {} : { nodes }),
  });
  console.log(formatTable(rows));
  if (json) console.log(JSON.stringify({ name, rows }));
  const missed = rows.filter(({ ok }) => !ok).length;
  if (missed > 0) console.error(`${missed} of ${rows.length} rows miss their goals`);
  const empty = rows.filter(measuresNothing);
  for (const { what } of empty) console.error(`nothing was measured: ${what.trim()}`);
  if (rows.length === 0) console.error("nothing was measured");
  return missed > 0 || empty.length > 0 || rows.length === 0 ? 1 : 0;
}

interface Arguments {
  readonly name?: string | undefined;
  readonly short: boolean;
  readonly json: boolean;
  readonly nodes?: number;
  readonly fault?: string;
}

function readArguments(): Arguments {
  try {
    const words: string[] = [];
    const flag = { type: "boolean", default: false } as const;
    const values = readFlags({ json: flag, short: flag, nodes: { type: "string" } }, { words });
    const [name, ...more] = words;
    const { json, short } = values;
    if (more.length > 0) return { short, json, fault: "one benchmark at a time" };
    if (values.nodes === undefined) return { name, short, json };
    const nodes = Number(values.nodes);
    if (!Number.isInteger(nodes) || nodes < 1)
      return { short, json, fault: `--nodes ${values.nodes}: not a number of nodes` };
    return { name, short, json, nodes };
  } catch (error) {
    return { short: false, json: false, fault: error instanceof Error ? error.message : String(error) };
  }
}

process.exitCode = await main().catch((error: unknown) => {
  const isPlain = [BenchFault, BuildError, MissingRequirement].some((kind) => error instanceof kind);
  console.error(isPlain ? (error as Error).message : error);
  return 1;
});
