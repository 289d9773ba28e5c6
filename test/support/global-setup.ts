/**
 * Runs before the tests that use real parts. It builds the control plane's programs and the CNI executables where they are
 * missing, and the page. If the machine lacks something, one sentence says what, and no test starts.
 */
import { buildPlugins } from "../../cni-plugins/build/build.ts";
import { writePage } from "../../src/web/build/build.ts";
import { compileCacheEnv, fillCompileCache } from "../cluster/compile-cache.ts";
import { ensureBinaries } from "../cluster/control-plane/binaries.ts";
import { providePrograms } from "../tools/debian/programs.ts";
import { BROKER_VARIABLE } from "./borrowed-control-plane.ts";
import { ControlPlaneBroker } from "./control-plane-broker.ts";
import { ProgressPrinter } from "./progress-printer.ts";

export async function setup(): Promise<() => Promise<void>> {
  Object.assign(process.env, { PATH: (await providePrograms(process.env, say)).path });
  const printer = new ProgressPrinter("control plane", say);
  await Promise.all([buildPlugins({ log: say }), fillCompileCache(), writePage()]);
  await ensureBinaries({ log: say, progress: printer.print });
  const broker = await ControlPlaneBroker.listen();
  // Workers and what they start see these.
  Object.assign(process.env, compileCacheEnv(), { [BROKER_VARIABLE]: broker.path });
  return () => broker[Symbol.asyncDispose]();
}

const say = (line: string): void => void process.stderr.write(`${line}\n`);
