/** Builds Go programs of the module beside this file and says how far it is. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { mustRun } from "../command.ts";
import { findExecutable } from "../requirements.ts";

export interface GoBuildOptions {
  readonly go: string;
  /** Go's settings of the user, such as GOPROXY and GOCACHE. */
  readonly env: NodeJS.ProcessEnv;
  /** Folder of go.mod. */
  readonly moduleDirectory: string;
  /** Go's scratch space; everything in it may be deleted afterwards. */
  readonly temporaryDirectory: string;
  readonly flags: readonly string[];
}

const environment = (options: GoBuildOptions): NodeJS.ProcessEnv => ({
  ...options.env,
  CGO_ENABLED: "0",
  GOWORK: "off",
  GOTMPDIR: options.temporaryDirectory,
});

/** For each main package the packages it is made of. Downloads modules that are not in the module cache. */
export async function listDependencies(
  options: GoBuildOptions,
  packages: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const format = '{{.ImportPath}} {{join .Deps " "}}';
  const output = await mustRun([options.go, "list", "-f", format, ...packages], {
    cwd: options.moduleDirectory,
    env: environment(options),
  });
  return new Map(
    output
      .trim()
      .split("\n")
      .map((line) => line.split(" "))
      .map(([main = "", ...dependencies]) => [main, dependencies]),
  );
}

/** Builds one main package into `file`. `compiled` gets each package's import path when its compilation starts. */
export async function goBuild(
  options: GoBuildOptions,
  main: string,
  file: string,
  compiled: (importPath: string) => void,
): Promise<void> {
  const args = ["build", "-v", ...options.flags, "-o", file, main];
  const setpriv = findExecutable("setpriv") ?? "setpriv";
  const child = spawn(setpriv, ["--pdeathsig", "KILL", options.go, ...args], {
    cwd: options.moduleDirectory,
    env: environment(options),
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exit = new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  });
  const complaints: string[] = [];
  for await (const line of createInterface({ input: child.stderr })) {
    if (/^[\w.~-]+(\/[\w.~-]+)*$/.test(line)) compiled(line);
    else if (complaints.push(line) > MAX_COMPLAINTS) complaints.shift();
  }
  const code = await exit;
  if (code !== 0) throw new Error(`go build ${main}: exit code ${code}\n${complaints.join("\n")}`);
}

const MAX_COMPLAINTS = 20;
