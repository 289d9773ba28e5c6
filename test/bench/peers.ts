/** The Go reference plugins, built from their Go modules as `peers/go.mod` pins them and cached outside the tree. */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { cacheDirectory } from "../../cni-plugins/built-plugins.ts";

const SOURCE = path.join(import.meta.dirname, "peers");
const FLAGS = ["-trimpath", "-ldflags", "-s -w"];

export class MissingTool extends Error {}

/** A directory with `bridge`, `host-local`, `static`, `tuning` and `cnitool`. */
export async function buildPeers(env: NodeJS.ProcessEnv, log: (line: string) => void = () => {}): Promise<string> {
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(path.join(SOURCE, file)));
  const key = hash.update(FLAGS.join(" ")).digest("hex").slice(0, 16);
  const directory = path.join(cacheDirectory(env), `cni-peers-${key}`);
  if (existsSync(directory)) return directory;
  log("building the Go reference plugins (once, about 10 s)");
  await mkdir(path.dirname(directory), { recursive: true });
  const temporary = mkdtempSync(`${directory}.`);
  try {
    goBuild(temporary, env);
    // Somebody else may have been faster; theirs is the same.
    await rename(temporary, directory).catch((error: unknown) => {
      if (!existsSync(directory)) throw error;
    });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return directory;
}

function goBuild(output: string, env: NodeJS.ProcessEnv): void {
  const build = spawnSync("go", ["build", ...FLAGS, "-o", `${output}/`, "tool"], {
    cwd: SOURCE,
    env: { ...env, CGO_ENABLED: "0" },
    encoding: "utf8",
  });
  if (build.error !== undefined) {
    throw new MissingTool(
      "go was not found: install Go 1.21 or later (https://go.dev/dl) to build the reference plugins",
    );
  }
  if (build.status !== 0) throw new Error(`go could not build the reference plugins:\n${build.stderr}`);
}
