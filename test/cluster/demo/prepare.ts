import { join } from "node:path";
import { stop as stopEsbuild } from "esbuild";
import { buildPlugins, requirePluginsOrTools } from "../../../cni-plugins/build/build.ts";
import { buildCli } from "../../../src/cli/build.ts";
import {
  type Binaries,
  type BuildProgress,
  ETCD_VERSION,
  ensureBinaries,
  KUBERNETES_VERSION,
  requireBinariesOrGo,
} from "../control-plane/binaries.ts";
import { requireNamespaces } from "../requirements.ts";
import type { Screen } from "./screen.ts";

/** Everything the demo runs that is not in the tree: built once, found again the next time. */
export interface Prepared {
  readonly binaries: Binaries;
  /** The `kubectl-macpool` executable. */
  readonly cli: string;
}

export const REPOSITORY = join(import.meta.dirname, "..", "..", "..");

/** Throws in one sentence, before anything runs, when the machine lacks something. */
export async function prepare(screen: Screen): Promise<Prepared> {
  await requireNamespaces();
  await requireBinariesOrGo();
  await requirePluginsOrTools();
  const startedMs = performance.now();
  let built = false;
  const building = (text: string): void => {
    built = true;
    screen.progress("build", text);
  };
  await buildPlugins({ log: building });
  const cli = await buildCli();
  // Its service process would otherwise outlive this one for a moment.
  await stopEsbuild();
  if (built) {
    const ms = performance.now() - startedMs;
    screen.end({ label: "build", text: "CNI plugins, kubectl macpool", status: "built", good: true, ms });
  }
  return { binaries: await controlPlane(screen), cli };
}

async function controlPlane(screen: Screen): Promise<Binaries> {
  const startedMs = performance.now();
  let built = false;
  const what = `Kubernetes ${KUBERNETES_VERSION}, etcd ${ETCD_VERSION}`;
  const binaries = await ensureBinaries({
    progress: (progress) => {
      built = true;
      screen.progress("control plane", describeBuild(progress), progress.percent / 100);
    },
  });
  if (built) {
    const ms = performance.now() - startedMs;
    screen.end({ label: "control plane", text: `${what}, kept for the next time`, status: "built", good: true, ms });
  }
  return binaries;
}

/** Short enough to stay beside a bar in 80 columns. */
export function describeBuild({ phase, program }: BuildProgress): string {
  return phase === "building" && program !== undefined ? `${program} (once, about 6 min)` : phase;
}
