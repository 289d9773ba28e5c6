/**
 * `npm run diff:cni -- [--seed N] [--cases N] [--first N]`: the differential test of the bridge plugin against the
 * reference. Prints each case that differs, with both sides, and why others may; the last line is one JSON object. Exits
 * 1 on a difference that is not on the list of allowed ones.
 */

import path from "node:path";
import { parseArgs } from "node:util";
import { buildPlugins } from "../../../cni-plugins/build.ts";
import { buildPeers, MissingTool } from "../../bench/peers.ts";
import { THIS_MACHINE } from "../machine.ts";
import { runDifferential } from "./differential.ts";

const DEFAULT_CASES = 300;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seed: { type: "string", default: "1" },
      cases: { type: "string", default: String(DEFAULT_CASES) },
      first: { type: "string", default: "0" },
    },
  });
  const [seed, cases, first] = [values.seed, values.cases, values.first].map(Number);
  if (![seed, cases, first].every((value) => Number.isSafeInteger(value))) {
    console.error("--seed, --cases and --first are whole numbers");
    return 2;
  }
  const log = (line: string) => console.error(line);
  const plugins = await buildPlugins({ log });
  const peers = await buildPeers(process.env, log);
  const plan = {
    machine: THIS_MACHINE,
    seed: seed ?? 1,
    cases: cases ?? DEFAULT_CASES,
    first: first ?? 0,
    reference: path.join(peers, "bridge"),
    ours: path.join(plugins, "bridge"),
    cniPath: peers,
  };
  const { totals, keys, reasons } = await runDifferential(plan, (one, differences) => {
    console.log(`case ${one.number}: ${JSON.stringify({ ...one.config })} CNI_ARGS=${one.cniArgs}`);
    if (one.before.length > 0) console.log(`  before: ${one.before.map((command) => command.join(" ")).join("; ")}`);
    for (const { at, reference, ours } of differences) {
      console.log(`  ${at}\n    reference: ${JSON.stringify(reference)}\n    ours:      ${JSON.stringify(ours)}`);
    }
  });
  console.log(`keys: ${JSON.stringify(keys)}`);
  for (const [reason, count] of Object.entries(reasons)) console.log(`allowed in ${count} cases: ${reason}`);
  console.log(JSON.stringify(totals));
  return totals.different === 0 ? 0 : 1;
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof MissingTool ? error.message : error);
  return 1;
});
