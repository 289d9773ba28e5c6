/**
 * `npm run diff:cni -- [--seed N] [--cases N] [--vlan-cases N] [--tuning-cases N] [--first N] [--parallel N]`: the differential
 * test of the plugins against the reference. Cases with VLANs run in a guest kernel, the others under this one. Prints each case that
 * differs, with both sides, how often each key occurred, and why others may differ; the last line is one JSON object.
 * Exits 1 on a difference that is not on the list of allowed ones, and when a run of 3,000 cases or more compared too little:
 * half of the cases must succeed on both sides, and each key must occur 30 times. An interrupt ends it early, with the report.
 */

import { buildPlugins } from "../../../cni-plugins/build/build.ts";
import { flagsOrExit } from "../../../cni-plugins/build/flags.ts";
import { buildPeers } from "../../bench/peers.ts";
import { MissingRequirement } from "../../cluster/requirements.ts";
import { Guest } from "../../guest-kernel/guest.ts";
import { type GuestParts, guestParts, MissingPackage } from "../../guest-kernel/packages.ts";
import { providePrograms, whatIsMissing } from "../../tools/debian/programs.ts";
import { THIS_MACHINE } from "../machine.ts";
import type { DifferentialCase } from "./case-generator.ts";
import type { Difference } from "./comparison.ts";
import { shares, shortfall } from "./coverage.ts";
import { emptyReport, type Plan, type Report, runDifferential } from "./differential.ts";

const DEFAULT_CASES = 300;
const PARALLEL = 3;
const PROGRESS_MS = 60_000;

async function main(): Promise<number> {
  const values = flagsOrExit({
    seed: { type: "string", default: "1" },
    cases: { type: "string", default: String(DEFAULT_CASES) },
    "vlan-cases": { type: "string" },
    "tuning-cases": { type: "string" },
    first: { type: "string", default: "0" },
    parallel: { type: "string", default: String(PARALLEL) },
  });
  const [seed = 1, cases = DEFAULT_CASES, first = 0] = [values.seed, values.cases, values.first].map(Number);
  const parallel = Number(values.parallel);
  const vlanCases = Number(values["vlan-cases"] ?? shares(cases).vlan);
  const tuningCases = Number(values["tuning-cases"] ?? shares(cases).tuning);
  const plainCases = cases - vlanCases - tuningCases;
  if (![seed, cases, first, vlanCases, tuningCases, parallel].every(Number.isSafeInteger) || plainCases < 0) {
    const numbers = "--seed, --cases, --vlan-cases and --tuning-cases (of the cases), --first and --parallel";
    console.error(`${numbers} are whole numbers`);
    return 2;
  }
  const log = (line: string) => console.error(line);
  const programs = await providePrograms(process.env, log, ["nft", "iptables", "linux.uml", "busybox"]);
  process.env.PATH = programs.path;
  const missing = whatIsMissing(programs);
  if (missing !== undefined) throw new MissingPackage(missing);
  const plugins = await buildPlugins({ log });
  const peers = await buildPeers(process.env, log);
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort());
  const plan = {
    seed,
    first,
    reference: peers,
    ours: plugins,
    cniPath: peers,
    signal: interrupt.signal,
  };
  const report = emptyReport(seed);
  setInterval(() => log(`${report.totals.cases} of ${cases} cases`), PROGRESS_MS).unref();
  const parts = vlanCases > 0 ? guestParts() : undefined;
  const plain = { ...plan, machine: THIS_MACHINE, kind: "plain" as const, cases: plainCases, parallel };
  const tuning = { ...plain, kind: "tuning" as const, cases: tuningCases, parallel: 1 };
  await Promise.all([
    runDifferential(plain, report, printDifferent),
    runDifferential(tuning, report, printDifferent),
    ...(parts === undefined ? [] : runInGuests(parts, { ...plan, cases: vlanCases }, Math.ceil(parallel / 2), report)),
  ]);
  printReport(report);
  const missed = shortfall(report);
  if (missed !== undefined) console.error(missed);
  return report.totals.different === 0 && missed === undefined ? 0 : 1;
}

/** One run for each guest kernel, which has one processor. */
function runInGuests(
  parts: GuestParts,
  plan: Omit<Plan, "machine" | "kind" | "parallel">,
  guests: number,
  report: Report,
): Promise<void>[] {
  return Array.from({ length: guests }, async (_, number) => {
    await using guest = await Guest.boot(parts);
    const first = Math.round((plan.cases * number) / guests);
    const share = { first: plan.first + first, cases: Math.round((plan.cases * (number + 1)) / guests) - first };
    await runDifferential({ ...plan, ...share, machine: guest, kind: "vlan", parallel: 1 }, report, printDifferent);
  });
}

function printDifferent(one: DifferentialCase, differences: readonly Difference[]): void {
  const extras = one.extras.length === 0 ? "" : `, besides ${one.extras.join(", ")}`;
  const variables = JSON.stringify({ CNI_ARGS: one.cniArgs, ...one.variables });
  console.log(`case ${one.number}: ${JSON.stringify({ ...one.config })} ${variables}${extras}`);
  if (one.before.length > 0) console.log(`  before: ${one.before.map((command) => command.join(" ")).join("; ")}`);
  for (const { at, reference, ours } of differences) {
    console.log(`  ${at}\n    reference: ${JSON.stringify(reference)}\n    ours:      ${JSON.stringify(ours)}`);
  }
}

function printReport({ totals, keys, reasons }: Report): void {
  console.log("cases  key");
  for (const [key, count] of Object.entries(keys).sort(([a], [b]) => (a < b ? -1 : 1))) {
    console.log(`${String(count).padStart(5)}  ${key}`);
  }
  for (const [reason, count] of Object.entries(reasons)) console.log(`allowed in ${count} cases: ${reason}`);
  console.log(JSON.stringify(totals));
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof MissingRequirement || error instanceof MissingPackage ? error.message : error);
  return 1;
});
