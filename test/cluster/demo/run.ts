/**
 * `npm run demo [-- --check]`: a cluster on this machine with the product in it, and a story that proves it works.
 *
 * Nothing may import this file. On a terminal the cluster stays up after the story until Ctrl-C. With --check it ends;
 * the last line on stdout is then the report, also after a failure, and the exit code is 0 only if every step held.
 */
import { parseArgs } from "node:util";
import { BuildError } from "../../../cni-plugins/build.ts";
import { MissingRequirement } from "../requirements.ts";
import { diagnose } from "./diagnosis.ts";
import { invite, putBack } from "./encore.ts";
import { lookOf } from "./look.ts";
import { type Opened, open } from "./opening.ts";
import { prepare } from "./prepare.ts";
import { Screen } from "./screen.ts";
import type { Stage } from "./stage.ts";
import { STEPS } from "./steps.ts";
import { messageOf, Story, type StoryListener } from "./story.ts";

const USAGE = "usage: npm run demo [-- --check]\n";
const INTERRUPTED = 130;

class Stopped extends Error {
  override readonly name = "Stopped";
}

const { values: options } = parseArgs({
  options: { check: { type: "boolean", default: false }, help: { type: "boolean", default: false } },
});
const screen = new Screen(process.stdout, lookOf(process.env, process.stdout));
const story = new Story<Stage>(STEPS);
const stop = new AbortController();
let reported = false;

function report(reason: string): void {
  if (!options.check || reported) return;
  reported = true;
  screen.line(JSON.stringify(story.report(reason)));
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
  const prepared = await prepare(screen);
  stop.signal.throwIfAborted();
  let current = "";
  const note = (text: string): void => screen.progress(current, text);
  await using opened = await open(prepared, screen, note, stop.signal);
  screen.line();
  const held = await story.tell(
    opened.stage,
    listener(opened.stage, (label) => (current = label)),
    stop.signal,
  );
  stop.signal.throwIfAborted();
  if (!held) process.stderr.write(`\n${await diagnose(opened.stage)}\n`);
  else if (!options.check) await stayUp(opened);
  return held ? 0 : 1;
}

async function stayUp(opened: Opened): Promise<void> {
  screen.progress("", "putting the addons and two VMs back");
  await putBack(opened.stage, stop.signal);
  invite(screen, opened);
  await new Promise((resolve) => stop.signal.addEventListener("abort", resolve, { once: true }));
  screen.line();
  screen.line("Removing everything.");
}

function listener(stage: Stage, begin: (label: string) => void): StoryListener {
  const label = (name: string, index: number): string => `${index + 1} ${name}`;
  return {
    begin(name, index) {
      begin(label(name, index));
      stage.note("");
    },
    held({ name, ms }, index, told) {
      screen.end({ label: label(name, index), ...told, status: "ok", good: true, ms });
    },
    failed({ name, ms }, index, error) {
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
    process.on(name, () => stop.abort(new Stopped(`stopped by ${name}`)));
  }
  process.on("uncaughtException", crash);
  process.on("unhandledRejection", crash);
  try {
    const code = await perform();
    report(code === 0 ? "" : "an earlier step failed");
    return code;
  } catch (error) {
    const expected = error instanceof MissingRequirement || error instanceof BuildError || error instanceof Stopped;
    const text = expected || !(error instanceof Error) ? messageOf(error) : (error.stack ?? error.message);
    process.stderr.write(`${text}\n`);
    report(messageOf(error));
    return error instanceof Stopped ? INTERRUPTED : 1;
  }
}

process.exitCode = await main();
process.exit();
