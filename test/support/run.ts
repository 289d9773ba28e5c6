/**
 * `npm test [-- PATH...]`: types, lint, vitest and cargo, and one closing line that sums all of them. PATH limits the run
 * to vitest files under it; without one, what share.ts leaves to CI is left out, but for TESTS=all. `npm run test:e2e [-- PATH...]`: all tests on real nodes, and the same closing line. With
 * CI=true a skipped test that known-skips.json does not name fails the run, and up to three failed files are run once more
 * when everything else has ended: the log names them, and the closing line counts those that passed then.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { cacheDirectory } from "../../cni-plugins/build/built-plugins.ts";
import { neededBy } from "../tools/debian/needs.ts";
import { providePrograms, whatIsMissing } from "../tools/debian/programs.ts";
import knownSkips from "./known-skips.json" with { type: "json" };
import { LEFT_TO_CI, RUNS_ALL } from "./share.ts";
import {
  addTotals,
  filesToRunAgain,
  formatTotals,
  NO_TESTS,
  skippedFor,
  type Totals,
  totalsOfCargo,
  totalsOfVitest,
  unknownSkips,
  type VitestReport,
  withSecondTry,
} from "./test-totals.ts";

const root = join(import.meta.dirname, "..", "..");
const bin = (name: string): string => join(root, "node_modules", ".bin", name);
const MIN_NODE_MAJOR = 24;

interface Outcome {
  readonly code: number;
  readonly output: string;
}

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      process.stdout.write(chunk);
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

async function check(name: string, command: string, args: readonly string[]): Promise<Totals> {
  const { code } = await run(command, args);
  console.log(`${name}: ${code === 0 ? "ok" : "failed"}`);
  return code === 0 ? NO_TESTS : { ...NO_TESTS, failed: 1 };
}

async function vitestReport(paths: readonly string[]): Promise<VitestReport> {
  const folder = mkdtempSync(join(tmpdir(), "vitest-report-"));
  const report = join(folder, "report.json");
  try {
    await run(bin("vitest"), ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...paths]);
    return JSON.parse(readFileSync(report, "utf8")) as VitestReport;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function vitest(paths: readonly string[]): Promise<Totals> {
  const ofVitest = (report: VitestReport): Totals => {
    const missing = provided.missing.map(({ name }) => name);
    const counts = skippedFor(report, (file, name) => neededBy(missing, relative(root, file), name));
    for (const [program, count] of Object.entries(counts)) console.log(`skipped without ${program}: ${count} tests`);
    return totalsOfVitest(report);
  };
  try {
    const report = await vitestReport(paths);
    const again = process.env.CI === "true" ? filesToRunAgain(report) : [];
    if (again.length === 0) return ofVitest(report);
    for (const file of again) console.log(`failed, and is run a second time: ${relative(root, file)}`);
    const projects = paths.filter((path) => path.startsWith("--project="));
    const second = await vitestReport([...projects, ...again]);
    const secondTries = second.testResults.filter(({ status }) => status !== "failed").length;
    return { ...ofVitest(withSecondTry(report, second)), secondTries };
  } catch (error) {
    console.error(`vitest left no report: ${error instanceof Error ? error.message : String(error)}`);
    return { ...NO_TESTS, failed: 1 };
  }
}

/** The crate's tests need the plugins' bundles, which the build makes. */
async function cargo(): Promise<Totals> {
  try {
    const build = await run(process.execPath, [join(root, "cni-plugins", "build", "build.ts"), "--reuse"]);
    if (build.code !== 0) return { ...NO_TESTS, failed: 1 };
    const manifest = join(root, "cni-plugins", "native", "Cargo.toml");
    const env = { ...process.env, CARGO_TARGET_DIR: join(cacheDirectory(process.env), "cargo-test") };
    const { code, output } = await run("cargo", ["test", "--quiet", "--locked", "--manifest-path", manifest], env);
    const totals = totalsOfCargo(output);
    return code !== 0 && totals.failed === 0 ? { ...totals, failed: 1 } : totals;
  } catch (error) {
    console.error(`cargo did not start: ${error instanceof Error ? error.message : String(error)}`);
    return { ...NO_TESTS, failed: 1 };
  }
}

if (Number(process.versions.node.split(".")[0]) < MIN_NODE_MAJOR) {
  console.error(`Node ${process.versions.node} is too old: run "npm ci" and then "npm test", which bring Node 24.`);
  process.exit(1);
}

const E2E = "--e2e";
const realNodes = process.argv.includes(E2E);
const paths = process.argv.slice(2).filter((argument) => argument !== E2E);
const projects = realNodes ? ["nodes", "e2e"] : ["unit", "real", "nodes"];
const selection = realNodes || paths.length === 0 ? projects.map((name) => `--project=${name}`) : [];
const provided = await providePrograms(process.env, (line) => console.log(line));
process.env.PATH = provided.path;
const isPart = !realNodes && paths.length === 0 && !RUNS_ALL;
const left = isPart ? LEFT_TO_CI.map((path) => `--exclude=${path.endsWith(".ts") ? path : `${path}/**`}`) : [];
let totals = NO_TESTS;
if (!realNodes && paths.length === 0) {
  totals = addTotals(totals, await check("types", bin("tsc"), ["--noEmit"]));
  totals = addTotals(totals, await check("types of the page", bin("tsc"), ["--noEmit", "-p", "src/web"]));
  totals = addTotals(totals, await check("lint", bin("biome"), ["check", "--error-on-warnings", "."]));
  totals = addTotals(totals, await check("unused code", bin("knip"), []));
  totals = addTotals(totals, await cargo());
}
totals = addTotals(totals, await vitest([...selection, ...left, ...paths]));

if (process.env.CI === "true") {
  const unknown = unknownSkips(totals.skipped, knownSkips as { test: string; reason: string }[]);
  for (const name of unknown) console.log(`skipped, and not on test/support/known-skips.json: ${name}`);
  totals = { ...totals, failed: totals.failed + unknown.length };
}
const wanting = whatIsMissing(provided);
if (wanting !== undefined) console.log(wanting);
if (isPart) console.log("this was a part of the tests: TESTS=all npm test runs them all");
console.log(formatTotals(totals));
process.exitCode = totals.failed === 0 && totals.passed > 0 ? 0 : 1;
