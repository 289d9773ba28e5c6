/**
 * Schemathesis, which asks a REST interface what its OpenAPI document lets one ask, and judges the answers by it. Taken from
 * PyPI into a virtual environment outside the tree.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import path from "node:path";
import { cacheDirectory } from "../../cni-plugins/build/built-plugins.ts";
import { withTemporaryFolder } from "../../cni-plugins/build/temporary-folder.ts";
import { runCommand } from "../cluster/command.ts";

const VERSION = "4.32.5";
const INSTALL_TIMEOUT_MS = 300_000;
const RUN_TIMEOUT_MS = 240_000;
const MODULE = "schemathesis.cli";

/** Its folder of packages, for Python's path; undefined where it can't be had. Cached. */
export async function schemathesis(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const parent = cacheDirectory(env);
  const packages = path.join(parent, `schemathesis-packages-${VERSION}`);
  if (existsSync(packages)) return packages;
  return withTemporaryFolder({ parent, prefix: "schemathesis-new-" }, async (folder) => {
    const target = path.join(folder, "packages");
    const argv = ["-m", "pip", "install", "--quiet", "--target", target, `schemathesis==${VERSION}`];
    const { status } = spawnSync("python3", argv, { timeout: INSTALL_TIMEOUT_MS, stdio: "ignore" });
    if (status !== 0) return undefined;
    await rename(target, packages);
    return packages;
  });
}

/** What it printed, and whether it found nothing wrong. It keeps what it learns in the folder. */
export async function runSchemathesis(
  packages: string,
  folder: string,
  args: readonly string[],
): Promise<{ readonly isFine: boolean; readonly output: string }> {
  const run = `import sys; sys.argv[0] = "schemathesis"; from ${MODULE} import schemathesis; schemathesis()`;
  const options = {
    cwd: folder,
    env: { ...process.env, PYTHONPATH: packages },
    signal: AbortSignal.timeout(RUN_TIMEOUT_MS),
  };
  const { code, stdout, stderr } = await runCommand(["python3", "-c", run, "run", ...args], options);
  return { isFine: code === 0, output: `${stdout}${stderr}` };
}
