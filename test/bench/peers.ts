/** The Go reference plugins, built from their Go modules as `peers/RELEASE/go.mod` pins them and cached outside the tree. */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { cacheDirectory } from "../../cni-plugins/built-plugins.ts";

const SOURCES = path.join(import.meta.dirname, "peers");
const FLAGS = ["-trimpath", "-ldflags", "-s -w"];

/** Today's, and the one that clusters run where the network addons were installed before. */
export type PeerRelease = "1.9.1" | "1.5.1";

export class MissingTool extends Error {}

/** A directory with `bridge`, `host-local`, `static`, `tuning` and `cnitool`. */
export async function buildPeers(
  env: NodeJS.ProcessEnv,
  log: (line: string) => void = () => {},
  release: PeerRelease = "1.9.1",
): Promise<string> {
  const source = path.join(SOURCES, release);
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(path.join(source, file)));
  const key = hash.update(FLAGS.join(" ")).digest("hex").slice(0, 16);
  const directory = path.join(cacheDirectory(env), `cni-peers-${key}`);
  if (existsSync(directory)) return directory;
  log(`building the Go reference plugins ${release} (once, about 10 s)`);
  await mkdir(path.dirname(directory), { recursive: true });
  const temporary = mkdtempSync(`${directory}.`);
  try {
    goBuild(source, temporary, env);
    // Somebody else may have been faster; theirs is the same.
    await rename(temporary, directory).catch((error: unknown) => {
      if (!existsSync(directory)) throw error;
    });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return directory;
}

function goBuild(source: string, output: string, env: NodeJS.ProcessEnv): void {
  const build = spawnSync("go", ["build", ...FLAGS, "-o", `${output}/`, "tool"], {
    cwd: source,
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
