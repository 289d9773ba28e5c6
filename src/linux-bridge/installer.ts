import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../kube/log.ts";
import { removeTemporaries, replaceFile } from "./atomic-file.ts";
import { withDirectoryLock } from "./directory-lock.ts";
import { errorCode, inspectFile, sha256Of } from "./host-file.ts";
import { decide, PLUGIN_MODE, type Plugin, type Target, targetsOf } from "./install-plan.ts";
import { checksumsOf, type Manifest, readManifest, withChecksum, writeManifest } from "./manifest.ts";

/**
 * Puts the CNI plugins of the image into the host's CNI directory and keeps them there. `repair` is level-based: it looks
 * at what stands there and makes it right, whatever happened before.
 */

/** How one name in the CNI directory is. */
export interface TargetState {
  readonly name: string;
  readonly state: "installed" | "foreign" | "failed";
  /** Of the file that stands there; absent for what is no file, and where it failed. */
  readonly sha256?: string;
  /** Why it is not installed. */
  readonly detail?: string;
}

export interface InstallerOptions {
  /** Where the host's CNI directory is seen from this process. */
  readonly directory: string;
  /** Its path on the node, where that is another. */
  readonly directoryOnNode?: string;
  /** Where the image has the executables. */
  readonly pluginDirectory: string;
  readonly plugins: readonly Plugin[];
  /** Somebody else's files under the names that are not ours alone are replaced, too. */
  readonly replaceForeign?: boolean;
  readonly leftoverAgeMs?: number;
  readonly log: Log;
}

/** Nobody takes so long to write a file: it is a killed predecessor's. */
const LEFTOVER_AGE_MS = 60_000;

export class Installer {
  readonly #options: InstallerOptions;
  readonly #onNode: string;
  readonly #targets: readonly Target[];
  #states: readonly TargetState[] = [];

  constructor(options: InstallerOptions) {
    this.#options = options;
    this.#onNode = options.directoryOnNode ?? options.directory;
    this.#targets = targetsOf(options.plugins, options.replaceForeign);
  }

  get targets(): readonly Target[] {
    return this.#targets;
  }

  /** As the last repair left it; empty before the first. */
  get states(): readonly TargetState[] {
    return this.#states;
  }

  /** Whether every file that has to be ours is in place. */
  get ready(): boolean {
    return this.#states.length > 0 && this.#states.every(({ state }) => state !== "failed");
  }

  /** One pass over all names. A failure at one is its state, never thrown, and does not keep the others from being done. */
  repair(): Promise<void> {
    return withDirectoryLock(this.#options.directory, () => this.#repairAll());
  }

  async #repairAll(): Promise<void> {
    const states: TargetState[] = [];
    let manifest: Manifest = {};
    let unreadable: unknown;
    try {
      manifest = await readManifest(this.#options.directory);
    } catch (error) {
      unreadable = error;
    }
    for (const target of this.#targets) {
      try {
        if (unreadable !== undefined) throw unreadable;
        manifest = await this.#repairOne(target, manifest, states);
      } catch (error) {
        states.push({ name: target.name, state: "failed", detail: explain(error, this.#onNode) });
      }
    }
    this.#report(states);
    const { directory, leftoverAgeMs = LEFTOVER_AGE_MS, log } = this.#options;
    await removeTemporaries(directory, leftoverAgeMs).catch((error: unknown) =>
      log.debug({ err: error }, "no clean-up"),
    );
  }

  async #repairOne(target: Target, manifest: Manifest, states: TargetState[]): Promise<Manifest> {
    const { directory, log } = this.#options;
    const { name, plugin } = target;
    const path = join(directory, name);
    const found = await inspectFile(path, join(this.#onNode, name));
    const decision = decide(this.#onNode, target, found, checksumsOf(manifest, name));
    if (decision.action === "foreign") {
      const checksum = decision.sha256 === undefined ? {} : { sha256: decision.sha256 };
      states.push({ name, state: "foreign", detail: decision.what, ...checksum });
      return manifest;
    }
    if (decision.action === "blocked") {
      states.push({ name, state: "failed", detail: decision.reason });
      return manifest;
    }
    const { sha256 } = plugin;
    const listed = withChecksum(manifest, name, sha256);
    if (listed !== manifest) await writeManifest(directory, listed);
    if (decision.action === "chmod") await chmod(path, PLUGIN_MODE);
    if (decision.action === "install") {
      await replaceFile(path, await this.#contentOf(plugin), PLUGIN_MODE);
      log.info({ file: name, sha256, before: found }, `installed ${name}: ${decision.reason}`);
    }
    states.push({ name, state: "installed", sha256 });
    return listed;
  }

  async #contentOf(plugin: Plugin): Promise<Uint8Array> {
    const path = join(this.#options.pluginDirectory, plugin.executable);
    const content = await readFile(path);
    if (sha256Of(content) !== plugin.sha256) throw new Error(`${path} has changed since the start; restart the pod`);
    return content;
  }

  #report(states: readonly TargetState[]): void {
    for (const state of states) {
      const before = this.#states.find(({ name }) => name === state.name);
      if (before?.state === state.state && before.detail === state.detail) continue;
      const where = `${this.#onNode}/${state.name}`;
      if (state.state === "failed") this.#options.log.error(state, `${where} could not be installed: ${state.detail}`);
      if (state.state === "foreign") {
        this.#options.log.warn(state, `${where} is not ours (${state.detail}) and is left alone`);
      }
    }
    this.#states = states;
  }
}

/** The executables among `names` that the image has, with their checksums. */
export async function shippedPlugins(pluginDirectory: string, names: readonly string[]): Promise<Plugin[]> {
  const plugins: Plugin[] = [];
  for (const executable of names) {
    const found = await inspectFile(join(pluginDirectory, executable));
    if (found.kind === "file") plugins.push({ executable, sha256: found.sha256 });
  }
  return plugins;
}

/** One sentence that an administrator can act on. */
function explain(error: unknown, directory: string): string {
  switch (errorCode(error)) {
    case "EROFS":
      return `${directory} is on a read-only file system: set linuxBridge.cniBinDir to the node's writable CNI directory`;
    case "EACCES":
    case "EPERM":
      return `${directory} must not be written by this process: an attribute (chattr +i) or a security module (SELinux, AppArmor) forbids it; allow it on the node, or set linuxBridge.cniBinDir to a directory where it is allowed`;
    case "ENOSPC":
    case "EDQUOT":
      return `the file system of ${directory} is full: free space on the node`;
    case "EIO":
      return `the file system of ${directory} fails (input/output error): check the node's disk`;
    case "ENOENT":
      return `${directory} is not there: it was removed, or the host directory is not mounted`;
    default:
      return error instanceof Error ? error.message : String(error);
  }
}
