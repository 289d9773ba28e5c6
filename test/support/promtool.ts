/**
 * promtool, which checks rules of Prometheus and plays series to them. Taken from the PATH, else out of Debian's package
 * `prometheus`, which apt-get downloads and nothing installs.
 */
import { execFile, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { readFile, rename } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "../../cni-plugins/build/built-plugins.ts";
import { withTemporaryFolder } from "../../cni-plugins/build/temporary-folder.ts";

const DOWNLOAD_TIMEOUT_MS = 180_000;
const MEMBER = "./usr/bin/promtool";

/** Path of the program; undefined where it can't be had. Cached outside the tree. */
export async function promtool(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (spawnSync("promtool", ["--version"]).status === 0) return "promtool";
  const cache = cacheDirectory(env);
  const cached = existsSync(cache)
    ? readdirSync(cache).find((name) => /^promtool-[0-9a-f]{16}$/.test(name))
    : undefined;
  if (cached !== undefined) return path.join(cache, cached);
  return withTemporaryFolder({ parent: cache, prefix: "promtool-new-" }, async (folder) => {
    const options = { cwd: folder, timeout: DOWNLOAD_TIMEOUT_MS };
    const command = `apt-get download -q prometheus && dpkg --fsys-tarfile prometheus_*.deb | tar -x ${MEMBER}`;
    if (spawnSync("sh", ["-c", command], options).status !== 0) return undefined;
    const program = path.join(folder, MEMBER);
    const hash = createHash("sha256")
      .update(await readFile(program))
      .digest("hex");
    const target = path.join(cache, `promtool-${hash.slice(0, 16)}`);
    await rename(program, target);
    return target;
  });
}

/** What it printed; throws with that when it refuses. */
export async function runPromtool(program: string, args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(program, [...args])).stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`promtool ${args.join(" ")}:\n${stdout}${stderr}`);
  }
}
