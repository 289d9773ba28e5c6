import { access, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";

const CONFIG_FILE = "00-multus.conf";
const SHIM = "multus-shim";
/** What multus' installer copies, and what it leaves when it is killed meanwhile. */
const EXECUTABLES = [SHIM, "passthru"].flatMap((name) => [name, `${name}.temp`]);
/** How libcni names what an ADD of multus' network answered. */
const RESULT_PREFIX = "multus-cni-network-";

export interface Leftovers {
  readonly binDirectories: readonly string[];
  /** libcni's, of the runtime's calls. */
  readonly resultDirectory: string;
  readonly crioSocket: string;
}

/** True if the runtime calls multus for new pods, or why it does not. */
export async function isConfigured(configDirectory: string): Promise<true | string> {
  if (await isThere(join(configDirectory, CONFIG_FILE))) return true;
  return `${CONFIG_FILE} is not among the node's CNI configurations: delete this pod to have it written again`;
}

/**
 * Removes the configuration that the daemon writes before all others, and removes at its end unless it is killed: with it and
 * without a daemon no pod starts on the node. Whether it was there.
 */
export async function removeConfig(configDirectory: string): Promise<boolean> {
  const path = join(configDirectory, CONFIG_FILE);
  if (!(await isThere(path)) || (await isOfAnother(path))) return false;
  await rm(path, { force: true });
  return true;
}

/**
 * Removes what multus left besides. Gives the paths. CRI-O calls the shim for a pod that was started with it whatever the
 * configuration says since, and could not delete the pod without it: there everything stays.
 */
export async function removeLeftovers({ binDirectories, resultDirectory, crioSocket }: Leftovers): Promise<string[]> {
  if (await isThere(crioSocket)) return [];
  const names = await readdir(resultDirectory).catch(() => []);
  const results = names.filter((name) => name.startsWith(RESULT_PREFIX)).map((name) => join(resultDirectory, name));
  const files = binDirectories.flatMap((directory) => EXECUTABLES.map((name) => join(directory, name)));
  const removed: string[] = [];
  for (const path of [...files, ...results]) {
    if (!(await isThere(path))) continue;
    await rm(path, { force: true });
    removed.push(path);
  }
  return removed;
}

/** A multus without a daemon has its configuration under the same name. One that is half written is the daemon's. */
async function isOfAnother(config: string): Promise<boolean> {
  try {
    return (JSON.parse(await readFile(config, "utf8")) as { type?: unknown }).type !== SHIM;
  } catch {
    return false;
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
