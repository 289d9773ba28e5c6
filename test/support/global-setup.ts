/**
 * Before the tests that use real parts: the control plane's programs and the CNI executables are there, built from this
 * tree where they are not. What is missing on the machine is said in one sentence, and no test starts.
 */
import { buildPlugins } from "../../cni-plugins/build.ts";
import { compileCacheEnv, fillCompileCache } from "../cluster/compile-cache.ts";
import { type BuildProgress, ensureBinaries } from "../cluster/control-plane/binaries.ts";
import { BROKER_VARIABLE } from "./borrowed-control-plane.ts";
import { ControlPlaneBroker } from "./control-plane-broker.ts";

export async function setup(): Promise<() => Promise<void>> {
  const printer = new ProgressPrinter();
  await Promise.all([buildPlugins({ log: say }), fillCompileCache()]);
  await ensureBinaries({ log: say, progress: (progress) => printer.print(progress) });
  const broker = await ControlPlaneBroker.listen();
  // Workers and what they start see these.
  Object.assign(process.env, compileCacheEnv(), { [BROKER_VARIABLE]: broker.path });
  return () => broker[Symbol.asyncDispose]();
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
