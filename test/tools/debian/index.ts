/**
 * Packages of Debian or Ubuntu by an index of our own, so that the machine's package lists need be neither fresh nor
 * complete. Nothing is installed, and root is not needed.
 */

import { mkdir, readdir, rename } from "node:fs/promises";
import path from "node:path";
import { machineArch } from "../../../cni-plugins/build/toolchain.ts";
import { Apt } from "../../../deploy/image/apt.ts";
import { lastLine } from "../../../deploy/image/command.ts";

const BOOKWORM = "bookworm";
export const BACKPORTS = `${BOOKWORM}-backports`;
const RELEASES = [BOOKWORM, `${BOOKWORM}-updates`, `${BOOKWORM}-security`, BACKPORTS];
/** What the machine has installed: its libraries are not downloaded again. */
const STATUS = "/var/lib/dpkg/status";

export class DebianIndex {
  readonly #apt: Apt;

  private constructor(apt: Apt) {
    this.#apt = apt;
  }

  /** The machine's own release. `directory`: an existing one, which the index is kept in. */
  static async ofMachine(directory: string): Promise<DebianIndex> {
    const apt = await aptIn(directory, true);
    await apt.updateFromMachine();
    return new DebianIndex(apt);
  }

  /** Debian bookworm with its backports, from the machine's mirror. */
  static async ofBookworm(directory: string): Promise<DebianIndex> {
    const apt = await aptIn(directory, false);
    await apt.update(RELEASES);
    return new DebianIndex(apt);
  }

  /**
   * Puts these packages and what they depend on and the machine lacks into `directory`. `release`: where they come from,
   * the index' first one unless given.
   */
  async downloadComplete(packages: readonly string[], directory: string, release?: string): Promise<void> {
    const what = ["install", "--yes", "--download-only", "--no-install-recommends", "--reinstall"];
    const from = release === undefined ? [] : ["--target-release", release];
    await this.#run("apt-get", [...what, ...from, ...packages], directory);
    const { archives } = this.#apt;
    const files = (await readdir(archives)).filter((file) => file.endsWith(".deb"));
    for (const file of files) await rename(path.join(archives, file), path.join(directory, file));
  }

  /** Puts these packages alone into `directory`. */
  async download(packages: readonly string[], directory: string): Promise<void> {
    await this.#run("apt-get", ["download", ...packages], directory);
  }

  /** What a package that has no content of its own stands for. */
  async standsFor(metaPackage: string, directory: string): Promise<string> {
    const text = await this.#run("apt-cache", ["depends", "--no-recommends", metaPackage], directory);
    const name = /^\s*Depends: (\S+)$/m.exec(text)?.[1];
    if (name === undefined) throw new Error(`the package ${metaPackage} depends on nothing`);
    return name;
  }

  async #run(program: string, argv: readonly string[], directory: string): Promise<string> {
    const ran = await this.#apt.run(program, argv, directory);
    if (ran.code !== 0) throw new Error(`${program} failed: ${lastLine(ran)}`);
    return ran.stdout;
  }
}

async function aptIn(directory: string, ofMachine: boolean): Promise<Apt> {
  const state = path.join(directory, "apt");
  await mkdir(state, { recursive: true });
  return new Apt(state, { architectures: [machineArch()], status: STATUS, ofMachine });
}
