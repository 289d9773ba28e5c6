/**
 * Go programs of one go.mod, built into the user's cache directory once for each content of go.mod, go.sum and flags.
 * One build of a folder runs on the machine at a time; other processes wait for it and show how far it is.
 */

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { cacheDirectory } from "../../../cni-plugins/build/built-plugins.ts";
import { plainEnv, requireGo, requireSetpriv } from "../requirements.ts";
import { type BuildProgress, PackageCount } from "./build-progress.ts";
import { type GoBuildOptions, goBuild, listDependencies } from "./go-build.ts";

export interface GoProgram {
  /** File name of the executable. */
  readonly name: string;
  readonly goPackage: string;
}

export interface GoModule {
  /** Beginning of the folder's name in the cache directory. */
  readonly cacheName: string;
  /** Folder of go.mod and go.sum. */
  readonly directory: string;
  /** What the programs are of, for the log: "Kubernetes 1.36.3". */
  readonly release: string;
  readonly flags: readonly string[];
}

export interface GoBuildReports {
  readonly env?: NodeJS.ProcessEnv;
  readonly log?: (line: string) => void;
  /** Called only when something has to be built or waited for. */
  readonly progress?: (progress: BuildProgress) => void;
}

const PARTIAL = ".partial-";
const STRIPPED = "-s -w";

/** Flags of a build of Kubernetes, whose programs tell their version. */
export function kubernetesFlags(version: string): readonly string[] {
  const [major, minor] = version.split(".");
  const setting = (name: string, value: string): string => `-X k8s.io/component-base/version.${name}=${value}`;
  const settings = [
    setting("gitVersion", `v${version}`),
    setting("gitMajor", `${major}`),
    setting("gitMinor", `${minor}`),
  ];
  return goFlags([STRIPPED, ...settings].join(" "));
}

export const goFlags = (linker: string = STRIPPED): readonly string[] => [
  "-trimpath",
  "-buildvcs=false",
  "-ldflags",
  linker,
];

/** One folder for each content of what the executables are made of. */
export async function programFolder(module: GoModule, env: NodeJS.ProcessEnv): Promise<string> {
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum"]) hash.update(await readFile(join(module.directory, file)));
  hash.update(JSON.stringify([module.flags, process.arch]));
  return join(cacheDirectory(env), `${module.cacheName}-${hash.digest("hex").slice(0, 12)}`);
}

/**
 * Builds what `missing` names into the module's folder. Throws MissingRequirement, in one sentence, when something must
 * be built and can't be.
 */
export async function buildMissing(
  module: GoModule,
  missing: () => readonly GoProgram[],
  { env = process.env, log = () => {}, progress = () => {} }: GoBuildReports = {},
): Promise<void> {
  if (missing().length === 0) return;
  requireSetpriv();
  const go = await requireGo(env);
  const folder = await programFolder(module, env);
  await mkdir(folder, { recursive: true });
  const progressFile = join(folder, ".progress");
  using following = new DisposableStack();
  await using _lock = await lockFile(join(folder, ".lock"), () => {
    following.use(followOther(progressFile, progress));
  });
  following.dispose();
  const programs = missing();
  if (programs.length > 0) {
    log(`building ${programs.map(({ name }) => name).join(", ")} of ${module.release} in ${folder}`);
    await build(module, programs, { folder, go, env }, publish(progressFile, progress));
  }
  progress({ phase: "done", percent: 100 });
}

async function build(
  module: GoModule,
  programs: readonly GoProgram[],
  { folder, go, env }: { readonly folder: string; readonly go: string; readonly env: NodeJS.ProcessEnv },
  progress: (progress: BuildProgress) => void,
): Promise<void> {
  for (const entry of await readdir(folder)) {
    if (entry.startsWith(PARTIAL)) await rm(join(folder, entry), { recursive: true, force: true });
  }
  const partial = await mkdtemp(join(folder, PARTIAL));
  try {
    const options: GoBuildOptions = {
      ...{ go, env, flags: module.flags },
      moduleDirectory: module.directory,
      temporaryDirectory: partial,
    };
    progress({ phase: "downloading modules", percent: 0 });
    const packages = programs.map(({ goPackage }) => goPackage);
    const count = new PackageCount(await listDependencies(options, packages));
    for (const { name, goPackage } of programs) {
      const report = (): void => progress({ phase: "building", program: name, percent: count.percent });
      report();
      await goBuild(options, goPackage, join(partial, name), (importPath) => {
        count.compiled(importPath);
        report();
      });
      await rename(join(partial, name), join(folder, name));
      count.linked(goPackage);
    }
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

interface FileLock extends AsyncDisposable {
  readonly path: string;
}

/** Waits until `path` is ours. `waiting` is called once when another process has it. */
async function lockFile(path: string, waiting: () => void = () => {}): Promise<FileLock> {
  const child = spawn("flock", ["--exclusive", path, "sh", "-c", "echo held; exec cat"], {
    stdio: ["pipe", "pipe", "inherit"],
    env: plainEnv(),
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const notice = setTimeout(waiting, WAITING_NOTICE_MS);
  try {
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => reject(new Error(`flock ${path}: exit code ${code}`)));
      child.stdout.once("data", () => resolve());
    });
  } finally {
    clearTimeout(notice);
  }
  return {
    path,
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
    },
  };
}

const WAITING_NOTICE_MS = 200;

type Report = (progress: BuildProgress) => void;

const POLL_MS = 500;

/** Reports to `next` what is new, and leaves it in the file for those who wait. */
function publish(file: string, next: Report): Report {
  let last = "";
  return (progress) => {
    const text = JSON.stringify(progress);
    if (text === last) return;
    last = text;
    writeFileSync(file, text);
    next(progress);
  };
}

/** Reports what the building process says, until it is disposed of. */
function followOther(file: string, next: Report): Disposable {
  const look = (): void => next({ ...readProgress(file), phase: "waiting for another build" });
  look();
  const timer = setInterval(look, POLL_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function readProgress(file: string): Omit<BuildProgress, "phase"> {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as BuildProgress;
  } catch {
    return { percent: 0 }; // not there yet, or just being written
  }
}
