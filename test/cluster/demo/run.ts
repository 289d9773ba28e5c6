/**
 * `npm run demo [-- --check]`: a cluster on this machine with the product in it, and a scenario that proves it works.
 *
 * Nothing may import this file. On a terminal the cluster stays up after the scenario until Ctrl-C. With --check it ends;
 * the last line on stdout is then the report, also after a failure, and the exit code is 0 only if every step held.
 */
import { readFlags } from "../../../cni-plugins/build/flags.ts";
import { BuildError } from "../../../cni-plugins/build/toolchain.ts";
import { MissingRequirement } from "../requirements.ts";
import type { DemoCluster } from "./demo-cluster.ts";
import { diagnose } from "./diagnosis.ts";
import { type InstalledDemo, open } from "./installed-demo.ts";
import { offerPage } from "./page.ts";
import { prepare } from "./prepare.ts";
import { messageOf, Scenario, type ScenarioListener } from "./scenario.ts";
import { Screen } from "./screen.ts";
import { STEPS } from "./steps.ts";
import { textFormatOf } from "./text-format.ts";
import { invite, putBack } from "./things-to-try.ts";

const USAGE = "usage: npm run demo [-- --check]\n";
const WRONG_USAGE = 2;
const INTERRUPTED = 130;

class Stopped extends Error {
  override readonly name = "Stopped";
}

const options = readOptions();
const screen = new Screen(process.stdout, textFormatOf(process.env, process.stdout));
const scenario = new Scenario<DemoCluster>(STEPS);
const stop = new AbortController();
const stopped = new Promise<never>((_, reject) => {
  stop.signal.addEventListener("abort", () => reject(stop.signal.reason), { once: true });
});
stopped.catch(() => {});
let reported = false;

function readOptions(): { readonly check: boolean; readonly help: boolean } {
  const flag = { type: "boolean", default: false } as const;
  try {
    return readFlags({ check: flag, help: flag });
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n${USAGE}`);
    process.exit(WRONG_USAGE);
  }
}

function report(reason: string): void {
  if (!options.check || reported) return;
  reported = true;
  screen.line(JSON.stringify(scenario.report(reason)));
}

/** Ends at once, whatever still runs: every process of the cluster dies with this one. */
function crash(error: unknown): void {
  // Ctrl-C reaches the cluster's processes too, and their end is no news then.
  if (stop.signal.aborted) return;
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  report(messageOf(error));
  process.exit(1);
}

async function perform(): Promise<number> {
  const hint = options.check ? "" : ". Ctrl-C stops it and removes everything.";
  screen.line(`Cluster network addons: demo on this machine${hint}`);
  screen.line();
  const prepared = await Promise.race([prepare(screen), stopped]);
  let current = "";
  const note = (text: string): void => screen.progress(current, text);
  await using opened = await open(prepared, screen, note, stop.signal);
  screen.line();
  const held = await scenario.run(
    opened.demo,
    listener(opened.demo, (label) => (current = label)),
    stop.signal,
  );
  stop.signal.throwIfAborted();
  if (!held) process.stderr.write(`\n${await diagnose(opened.demo)}\n`);
  else if (!options.check) await stayUp(opened);
  return held ? 0 : 1;
}

async function stayUp(opened: InstalledDemo): Promise<void> {
  screen.progress("", "putting the addons, VMs and networks back");
  await putBack(opened.demo, stop.signal);
  await using page = await offerPage(opened, stop.signal);
  invite(screen, opened, page.url);
  await stopped.catch(() => {});
  screen.line();
  screen.line("Removing everything.");
}

function listener(demo: DemoCluster, begin: (label: string) => void): ScenarioListener {
  const label = (name: string, index: number): string => `${index + 1} ${name}`;
  return {
    begin(name, index) {
      begin(label(name, index));
      demo.note("");
    },
    held({ name, ms }, index, told) {
      screen.end({ label: label(name, index), ...told, status: "ok", good: true, ms });
    },
    failed({ name, ms }, index, error) {
      if (error instanceof Stopped) return;
      screen.end({ label: label(name, index), text: messageOf(error), status: "FAILED", good: false, ms });
    },
  };
}

async function main(): Promise<number> {
  if (options.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(INTERRUPTED);
      stop.abort(new Stopped(`stopped by ${name}`));
    });
  }
  process.on("uncaughtException", crash);
  process.on("unhandledRejection", crash);
  try {
    const code = await perform();
    report("");
    return code;
  } catch (thrown) {
    // Ctrl-C reaches the children too, so what was thrown may be their end.
    const error: unknown = stop.signal.aborted ? stop.signal.reason : thrown;
    const expected = error instanceof MissingRequirement || error instanceof BuildError || error instanceof Stopped;
    const text = expected || !(error instanceof Error) ? messageOf(error) : (error.stack ?? error.message);
    screen.line();
    process.stderr.write(`${text}\n`);
    report(messageOf(error));
    return error instanceof Stopped ? INTERRUPTED : 1;
  }
}

process.exitCode = await main();
process.exit();
