/**
 * Executables of the control plane. KUBEBUILDER_ASSETS and TEST_ASSET_* name existing ones. Others are built from the Go
 * modules beside this file (go-programs.ts).
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { MissingRequirement, requireGo } from "../requirements.ts";
import { buildMissing, type GoBuildReports, type GoModule, kubernetesFlags, programFolder } from "./go-programs.ts";
import { type Binaries, ETCD_VERSION, KUBERNETES_VERSION, PROGRAMS, type ProgramKey } from "./programs.ts";

export type { BuildProgress } from "./build-progress.ts";
export type { GoBuildReports as BinariesOptions } from "./go-programs.ts";
export { type Binaries, ETCD_VERSION, KUBERNETES_VERSION } from "./programs.ts";

const keys = Object.keys(PROGRAMS) as ProgramKey[];

const CONTROL_PLANE: GoModule = {
  cacheName: "control-plane",
  directory: import.meta.dirname,
  release: `Kubernetes ${KUBERNETES_VERSION} and etcd ${ETCD_VERSION}`,
  flags: kubernetesFlags(KUBERNETES_VERSION),
};

/** Throws MissingRequirement, in one sentence, when something must be built and can't be. */
export async function ensureBinaries(options: GoBuildReports = {}): Promise<Binaries> {
  const { env = process.env } = options;
  const binaries = locate(await programFolder(CONTROL_PLANE, env), env);
  await buildMissing(CONTROL_PLANE, () => missingOf(binaries).map((key) => PROGRAMS[key]), options);
  return binaries;
}

/** Throws as ensureBinaries would, in one sentence, and builds nothing. */
export async function requireBinariesOrGo(env: NodeJS.ProcessEnv = process.env): Promise<void> {
  if (missingOf(locate(await programFolder(CONTROL_PLANE, env), env)).length > 0) await requireGo(env);
}

function locate(folder: string, env: NodeJS.ProcessEnv): Record<ProgramKey, string> {
  const paths = keys.map((key) => [key, readyMade(key, env) ?? join(folder, PROGRAMS[key].name)]);
  return Object.fromEntries(paths);
}

const missingOf = (binaries: Record<ProgramKey, string>): ProgramKey[] =>
  keys.filter((key) => !existsSync(binaries[key]));

function readyMade(key: ProgramKey, env: NodeJS.ProcessEnv): string | undefined {
  const { name, assetVariable } = PROGRAMS[key];
  const named = env[assetVariable];
  if (named !== undefined && named !== "") {
    if (!existsSync(named)) {
      throw new MissingRequirement(`${assetVariable}=${named}: there is no such file; unset it to build ${name}.`);
    }
    return named;
  }
  const assets = env.KUBEBUILDER_ASSETS;
  if (assets === undefined || assets === "") return undefined;
  const file = join(assets, name);
  return existsSync(file) ? file : undefined;
}
