/** Runs before the tests on real nodes. It builds what they need where it is missing; where real nodes can't run, nothing. */
import { buildPlugins } from "../../cni-plugins/build/build.ts";
import { ensureBinaries, KUBERNETES_VERSION } from "../cluster/control-plane/binaries.ts";
import { ProgressPrinter } from "../support/progress-printer.ts";
import { providePrograms } from "../tools/debian/programs.ts";
import { ensureNodePrograms, type KubeletVersion, OLDEST_KUBERNETES_VERSION } from "./node-programs.ts";
import { missingForRealNodes } from "./real-nodes.ts";

const say = (line: string): void => void process.stderr.write(`${line}\n`);

export async function setup({ config }: { readonly config: { readonly name?: string } }): Promise<void> {
  Object.assign(process.env, { PATH: (await providePrograms(process.env, say)).path });
  if ((await missingForRealNodes()) !== undefined) return;
  const versions: readonly KubeletVersion[] =
    config.name === "e2e" ? [KUBERNETES_VERSION, OLDEST_KUBERNETES_VERSION] : [KUBERNETES_VERSION];
  const printer = new ProgressPrinter("real nodes", say);
  const reports = { log: say, progress: printer.print };
  await buildPlugins({ log: say });
  await ensureBinaries(reports);
  await ensureNodePrograms(versions, reports);
}
