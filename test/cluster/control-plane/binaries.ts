/**
 * Executables of the control plane: ready-made ones where KUBEBUILDER_ASSETS or TEST_ASSET_* name them, else built from
 * the Go modules beside this file, once for each content of go.mod, go.sum and flags, into the user's cache directory.
 * One build at a time on the machine; the others wait and then find everything there.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { cacheDirectory } from "../../../cni-plugins/built-plugins.ts";
import { MissingRequirement, requireGo, requireSetpriv } from "../requirements.ts";
import { type BuildProgress, PackageCount } from "./build-progress.ts";
import { lockFile } from "./file-lock.ts";
import { type GoBuildOptions, goBuild, listDependencies } from "./go-build.ts";
import { type Binaries, ETCD_VERSION, KUBERNETES_VERSION, PROGRAMS, type ProgramKey } from "./programs.ts";
import { followOther, publish } from "./shared-progress.ts";

export type { BuildProgress } from "./build-progress.ts";
export { type Binaries, ETCD_VERSION, KUBERNETES_VERSION } from "./programs.ts";

export interface BinariesOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly log?: (line: string) => void;
  /** Called only when something has to be built or waited for. */
  readonly progress?: (progress: BuildProgress) => void;
}

const PARTIAL = ".partial-";
const keys = Object.keys(PROGRAMS) as ProgramKey[];

const [major, minor] = KUBERNETES_VERSION.split(".");
const versionFlag = (name: string, value: string): string => `-X k8s.io/component-base/version.${name}=${value}`;
const buildFlags = [
  "-trimpath",
  "-buildvcs=false",
  "-ldflags",
  [
    "-s -w",
    versionFlag("gitVersion", `v${KUBERNETES_VERSION}`),
    versionFlag("gitMajor", `${major}`),
    versionFlag("gitMinor", `${minor}`),
  ].join(" "),
];

/** Throws MissingRequirement, in one sentence, when something must be built and can't be. */
export async function ensureBinaries(options: BinariesOptions = {}): Promise<Binaries> {
  const { env = process.env, log = () => {}, progress = () => {} } = options;
  const directory = await directoryOfPrograms(env);
  const binaries = locate(directory, env);
  const missing = (): ProgramKey[] => missingOf(binaries);
  if (missing().length === 0) return binaries;

  requireSetpriv();
  const go = await requireGo(env);
  await mkdir(directory, { recursive: true });
  const progressFile = join(directory, ".progress");
  using following = new DisposableStack();
  await using _lock = await lockFile(join(directory, ".lock"), () => {
    following.use(followOther(progressFile, progress));
  });
  following.dispose();
  if (missing().length > 0) {
    log(
      `building ${missing().join(", ")} of Kubernetes ${KUBERNETES_VERSION} and etcd ${ETCD_VERSION} in ${directory}`,
    );
    await build(missing(), directory, go, env, publish(progressFile, progress));
  }
  progress({ phase: "done", percent: 100 });
  return binaries;
}

/** Throws as ensureBinaries would, in one sentence, and builds nothing. */
export async function requireBinariesOrGo(env: NodeJS.ProcessEnv = process.env): Promise<void> {
  if (missingOf(locate(await directoryOfPrograms(env), env)).length > 0) await requireGo(env);
}

function locate(directory: string, env: NodeJS.ProcessEnv): Record<ProgramKey, string> {
  const paths = keys.map((key) => [key, readyMade(key, env) ?? join(directory, PROGRAMS[key].name)]);
  return Object.fromEntries(paths);
}

const missingOf = (binaries: Record<ProgramKey, string>): ProgramKey[] =>
  keys.filter((key) => !existsSync(binaries[key]));

async function build(
  missing: readonly ProgramKey[],
  directory: string,
  go: string,
  env: NodeJS.ProcessEnv,
  progress: (progress: BuildProgress) => void,
): Promise<void> {
  for (const entry of await readdir(directory)) {
    if (entry.startsWith(PARTIAL)) await rm(join(directory, entry), { recursive: true, force: true });
  }
  const partial = await mkdtemp(join(directory, PARTIAL));
  try {
    const options: GoBuildOptions = {
      go,
      env,
      moduleDirectory: import.meta.dirname,
      temporaryDirectory: partial,
      flags: buildFlags,
    };
    progress({ phase: "downloading modules", percent: 0 });
    const packages = missing.map((key) => PROGRAMS[key].goPackage);
    const count = new PackageCount(await listDependencies(options, packages));
    for (const key of missing) {
      const { name, goPackage } = PROGRAMS[key];
      const report = (): void => progress({ phase: "building", program: name, percent: count.percent });
      report();
      await goBuild(options, goPackage, join(partial, name), (importPath) => {
        count.compiled(importPath);
        report();
      });
      await rename(join(partial, name), join(directory, name));
      count.linked(goPackage);
    }
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

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

/** One folder for each content of what the executables are made of. */
async function directoryOfPrograms(env: NodeJS.ProcessEnv): Promise<string> {
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum"]) hash.update(await readFile(join(import.meta.dirname, file)));
  hash.update(JSON.stringify([buildFlags, process.arch]));
  return join(cacheDirectory(env), `control-plane-${hash.digest("hex").slice(0, 12)}`);
}
