/** The release before this one, from the repository's history: its manifest, and its sources as the tree of an image. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { mustRun, runCommand, shellQuote } from "../command.ts";

const repository = join(import.meta.dirname, "..", "..", "..");

/** The last commit of the release before this one. */
const COMMIT = "df97df5ff74a7f18b7ee28d6e601a3d6db8adb8a";
/** The image that its manifest names. */
export const PREVIOUS_IMAGE = "registry.invalid/cluster-network-addons:0.1.0";

/** A shallow clone has no history. */
export async function hasPreviousRelease(): Promise<boolean> {
  return (await runCommand(["git", "cat-file", "-e", `${COMMIT}^{commit}`], { cwd: repository })).code === 0;
}

export function previousManifest(): Promise<string> {
  return mustRun(["git", "show", `${COMMIT}:deploy/release.yaml`], { cwd: repository });
}

/** Writes the sources to `folder`, with the npm packages and the CNI plugins of this tree; resolves with its image's tree. */
export async function writePreviousTree(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const target = shellQuote(folder);
  await mustRun(["sh", "-c", `git archive ${COMMIT} | tar -x -C ${target}`], { cwd: repository });
  // Hard links where both are on one file system: the packages are half a gigabyte.
  const copy = `cp -al node_modules dist ${target} 2>/dev/null || cp -a node_modules dist ${target}`;
  await mustRun(["sh", "-c", copy], { cwd: repository });
  const program = 'console.log(await (await import("./deploy/image/app-tree.ts")).writeAppTree())';
  const printed = await mustRun([process.execPath, "--input-type=module", "-e", program], { cwd: folder });
  return printed.trim().split("\n").at(-1) ?? "";
}
