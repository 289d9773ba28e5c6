import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../kube/clock.ts";
import type { Log } from "../../kube/log.ts";
import { errorCode } from "../system-error.ts";
import { inspectFile, KnownContents } from "./host-file.ts";
import { decide, PLUGIN_MODE, type Plugin, type Target, targetsOf } from "./install-plan.ts";
import { removeTemporaries, replaceFile } from "./replace-file.ts";

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
  /** Of the file if it is ours. It differs from the image's while another installer is at work. */
  readonly version?: string;
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
  /** Foreign files under the shared names are replaced too. */
  readonly replaceForeign?: boolean;
  readonly leftoverAgeMs?: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** A temporary file of this age is of an installer that was killed: none takes so long to write one. */
const LEFTOVER_AGE_MS = 60_000;

/**
 * After a forced deletion two pods of different versions can be on a node, and so can two releases. Each replaces the other's
 * files after a rest, which doubles each time: they do not spin, and the one that stays has the last word.
 */
const UPDATE_REST_MS = 30_000;
const LONGEST_UPDATE_REST_MS = 600_000;

/** A file of another version is another installer's when it comes within this time of the last update. */
const CONTEST_MS = 3_600_000;

export class Installer {
  readonly #options: InstallerOptions;
  readonly #onNode: string;
  readonly #targets: readonly Target[];
  readonly #contents = new KnownContents();
  #states: readonly TargetState[] = [];
  #updatedAtMs = Number.NEGATIVE_INFINITY;
  #updateRestMs = UPDATE_REST_MS;
  #contests = 0;

  constructor(options: InstallerOptions) {
    this.#options = options;
    this.#onNode = options.directoryOnNode ?? options.directory;
    this.#targets = targetsOf(options.plugins, options.replaceForeign);
  }

  /** As the last repair left it; empty before the first. */
  get states(): readonly TargetState[] {
    return this.#states;
  }

  /** Whether every file that has to be ours is in place. */
  get ready(): boolean {
    return this.#states.length > 0 && this.#states.every(({ state }) => state !== "failed");
  }

  /** How often this installer found the files of another one in place of its own. */
  get contests(): number {
    return this.#contests;
  }

  /** One pass over all names. A failure at one is its state, never thrown, and does not keep the others from being done. */
  async repair(): Promise<void> {
    const { directory, leftoverAgeMs = LEFTOVER_AGE_MS, clock, log } = this.#options;
    const states: TargetState[] = [];
    const updatedAtMs = this.#updatedAtMs;
    const mayUpdate = clock.monotonicMs() - updatedAtMs >= this.#updateRestMs;
    for (const target of this.#targets) {
      try {
        states.push(await this.#repairOne(target, mayUpdate));
      } catch (error) {
        states.push({ name: target.name, state: "failed", detail: explain(error, this.#onNode) });
      }
    }
    if (this.#updatedAtMs !== updatedAtMs) this.#restAfterUpdate(updatedAtMs);
    this.#report(states);
    await removeTemporaries(directory, leftoverAgeMs).catch((error: unknown) =>
      log.debug({ err: error }, "temporary files could not be removed"),
    );
  }

  async #repairOne({ name, plugin, claim }: Target, mayUpdate: boolean): Promise<TargetState> {
    const { directory, clock, log } = this.#options;
    const path = join(directory, name);
    const inspect = () => inspectFile(path, join(this.#onNode, name), this.#contents.of);
    const found = await inspect();
    const decision = decide(this.#onNode, { name, plugin, claim }, found);
    if (decision.action === "foreign") {
      const checksum = decision.sha256 === undefined ? {} : { sha256: decision.sha256 };
      return { name, state: "foreign", detail: decision.what, ...checksum };
    }
    if (decision.action === "blocked") return { name, state: "failed", detail: decision.reason };
    if (decision.action === "update") {
      const { sha256, version } = decision;
      if (!mayUpdate) return { name, state: "installed", sha256, version };
    }
    const { sha256, version } = plugin;
    if (decision.action === "chmod") await chmod(path, PLUGIN_MODE);
    if (decision.action === "install" || decision.action === "update") {
      // Writing takes milliseconds, in which other software may put its own file there.
      const isAsFound = async () => claim === "ours" || isDeepStrictEqual(await inspect(), found);
      const source = join(this.#options.pluginDirectory, plugin.executable);
      const replaced = await replaceFile(path, source, sha256, PLUGIN_MODE, isAsFound);
      if (!replaced) return this.#repairOne({ name, plugin, claim }, mayUpdate);
      // An update that failed takes no turn: the next pass tries it again, and the state stays failed until then.
      if (decision.action === "update") this.#updatedAtMs = clock.monotonicMs();
      log.info({ file: name, version, sha256, before: found }, `installed ${name}: ${decision.reason}`);
    }
    return { name, state: "installed", sha256, version };
  }

  #restAfterUpdate(previousMs: number): void {
    const isContest = this.#updatedAtMs - previousMs < CONTEST_MS;
    this.#updateRestMs = isContest ? Math.min(2 * this.#updateRestMs, LONGEST_UPDATE_REST_MS) : UPDATE_REST_MS;
    if (!isContest) return;
    this.#contests++;
    this.#options.log.warn(
      { contests: this.#contests },
      `another installer puts its version of the plugins into ${this.#onNode}: run one release only; this one rests for ${this.#updateRestMs / 1000} s`,
    );
  }

  #report(states: readonly TargetState[]): void {
    for (const state of states) {
      const before = this.#states.find(({ name }) => name === state.name);
      if (before?.state === state.state && before.detail === state.detail) continue;
      const where = `${this.#onNode}/${state.name}`;
      if (state.state === "failed") this.#options.log.error(state, `${where} could not be installed: ${state.detail}`);
      if (state.state === "foreign") {
        this.#options.log.warn(state, `${where} is not ours (${state.detail}) and stays`);
      }
    }
    this.#states = states;
  }
}

/** The executables among `names` that the image has. */
export async function shippedPlugins(pluginDirectory: string, names: readonly string[]): Promise<Plugin[]> {
  const plugins: Plugin[] = [];
  for (const executable of names) {
    const path = join(pluginDirectory, executable);
    const found = await inspectFile(path);
    if (found.kind !== "file") continue;
    if (found.mark === undefined)
      throw new Error(`${path} has no mark at its end: build it with npm run build:plugins`);
    plugins.push({ executable, version: found.mark.version, sha256: found.sha256 });
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
      return `this process must not write to ${directory}: an attribute (chattr +i) or a security module (SELinux, AppArmor) forbids it; allow it on the node, or set linuxBridge.cniBinDir to another directory`;
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
