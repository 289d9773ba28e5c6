/**
 * Debian's packages by an index of our own, so that the machine's package lists need be neither fresh nor complete: bookworm
 * and its backports, from the machine's mirror. Nothing is installed.
 */

import { mkdir, readdir, rename } from "node:fs/promises";
import path from "node:path";
import { machineArch } from "../../cni-plugins/build/toolchain.ts";
import { Apt } from "../../deploy/image/apt.ts";
import { lastLine } from "../../deploy/image/command.ts";

const RELEASE = "bookworm";
export const BACKPORTS = `${RELEASE}-backports`;
const RELEASES = [RELEASE, `${RELEASE}-updates`, `${RELEASE}-security`, BACKPORTS];
/** What the machine has installed: its libraries are not downloaded again. */
const STATUS = "/var/lib/dpkg/status";

export class DebianIndex {
  readonly #directory: string;
  readonly #apt: Apt;

  private constructor(directory: string, apt: Apt) {
    this.#directory = directory;
    this.#apt = apt;
  }

  /** `directory`: an existing one, which the index and what is downloaded are kept in. */
  static async read(directory: string): Promise<DebianIndex> {
    const state = path.join(directory, "apt");
    await mkdir(state);
    const apt = new Apt(state, { architectures: [machineArch()], status: STATUS });
    await apt.update(RELEASES);
    return new DebianIndex(directory, apt);
  }

  /** The newest packages of their names in the backports, and what they depend on and the machine lacks. */
  async downloadFromBackports(packages: readonly string[]): Promise<void> {
    const what = ["install", "--yes", "--download-only", "--no-install-recommends", "--target-release", BACKPORTS];
    await this.#run("apt-get", [...what, ...packages]);
    const { archives } = this.#apt;
    const files = (await readdir(archives)).filter((file) => file.endsWith(".deb"));
    for (const file of files) await rename(path.join(archives, file), path.join(this.#directory, file));
  }

  /** These packages alone. */
  async download(packages: readonly string[]): Promise<void> {
    await this.#run("apt-get", ["download", ...packages]);
  }

  /** What a package that has no content of its own stands for. */
  async standsFor(metaPackage: string): Promise<string> {
    const text = await this.#run("apt-cache", ["depends", "--no-recommends", metaPackage]);
    const name = /^\s*Depends: (\S+)$/m.exec(text)?.[1];
    if (name === undefined) throw new Error(`the package ${metaPackage} depends on nothing`);
    return name;
  }

  async #run(program: string, argv: readonly string[]): Promise<string> {
    const ran = await this.#apt.run(program, argv, this.#directory);
    if (ran.code !== 0) throw new Error(`${program} failed: ${lastLine(ran)}`);
    return ran.stdout;
  }
}
