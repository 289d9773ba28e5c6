/**
 * Before the tests that use real parts: the control plane's programs and the CNI executables are there, built from this
 * tree where they are not. What is missing on the machine is said in one sentence, and no test starts.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { compileCacheEnv, fillCompileCache } from "../cluster/compile-cache.ts";
import { type BuildProgress, ensureBinaries } from "../cluster/control-plane/binaries.ts";
import { BROKER_VARIABLE } from "./borrowed-control-plane.ts";
import { ControlPlaneBroker } from "./control-plane-broker.ts";

const root = join(import.meta.dirname, "..", "..");

export async function setup(): Promise<() => Promise<void>> {
  const printer = new ProgressPrinter();
  await Promise.all([buildPlugins(), fillCompileCache()]);
  await ensureBinaries({ log: say, progress: (progress) => printer.print(progress) });
  const broker = await ControlPlaneBroker.listen();
  // Workers and what they start see these.
  Object.assign(process.env, compileCacheEnv(), { [BROKER_VARIABLE]: broker.path });
  return () => broker[Symbol.asyncDispose]();
}

async function buildPlugins(): Promise<void> {
  const script = join(root, "cni-plugins", "build.ts");
  if (!existsSync(script)) return;
  const child = spawn(process.execPath, [script, "--reuse"], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`The CNI executables were not built (npm run build:plugins): exit code ${code}`);
}

/** A line for each tenth of the way: this goes into logs. */
class ProgressPrinter {
  #last = "";

  print({ phase, program, percent }: BuildProgress): void {
    const step = `${phase}${program === undefined ? "" : ` ${program}`}`;
    const tenth = `${step} ${Math.floor(percent / 10)}`;
    if (tenth === this.#last) return;
    this.#last = tenth;
    say(`control plane: ${step} (${percent}%)`);
  }
}

const say = (line: string): void => void process.stderr.write(`${line}\n`);
