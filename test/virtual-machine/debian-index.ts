/**
 * Debian's packages by an index of our own, so that the machine's package lists need be neither fresh nor complete: the
 * machine's sources for bookworm, and that mirror's backports. Nothing is installed.
 */

import { execFile } from "node:child_process";
import { mkdir, readdir, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const RELEASE = "bookworm";
export const BACKPORTS = `${RELEASE}-backports`;
const RELEASES = [RELEASE, `${RELEASE}-updates`, `${RELEASE}-security`];
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
const UPDATE_TIMEOUT_MS = 60_000;
const DOWNLOAD_TIMEOUT_MS = 180_000;

export class DebianIndex {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** `directory`: an existing one, which the index and what is downloaded are kept in. */
  static async read(directory: string): Promise<DebianIndex> {
    const state = path.join(directory, "apt");
    await mkdir(path.join(state, "lists", "partial"), { recursive: true });
    await mkdir(path.join(state, "cache", "archives", "partial"), { recursive: true });
    await writeFile(path.join(state, "sources.list"), await sources());
    const index = new DebianIndex(directory);
    await index.#apt("apt-get", ["update"], UPDATE_TIMEOUT_MS);
    return index;
  }

  /** The newest packages of their names in the backports, and what they depend on and the machine lacks. */
  async downloadFromBackports(packages: readonly string[]): Promise<void> {
    const what = ["install", "--yes", "--download-only", "--no-install-recommends", "--target-release", BACKPORTS];
    await this.#apt("apt-get", [...what, ...packages], DOWNLOAD_TIMEOUT_MS);
    const archives = path.join(this.#directory, "apt", "cache", "archives");
    const files = (await readdir(archives)).filter((file) => file.endsWith(".deb"));
    for (const file of files) await rename(path.join(archives, file), path.join(this.#directory, file));
  }

  /** These packages alone. */
  async download(packages: readonly string[]): Promise<void> {
    await this.#apt("apt-get", ["download", ...packages], DOWNLOAD_TIMEOUT_MS);
  }

  /** What a package that has no content of its own stands for. */
  async standsFor(metaPackage: string): Promise<string> {
    const text = await this.#apt("apt-cache", ["depends", "--no-recommends", metaPackage], UPDATE_TIMEOUT_MS);
    const name = /^\s*Depends: (\S+)$/m.exec(text)?.[1];
    if (name === undefined) throw new Error(`the package ${metaPackage} depends on nothing`);
    return name;
  }

  async #apt(program: string, argv: readonly string[], timeout: number): Promise<string> {
    const state = path.join(this.#directory, "apt");
    const settings = {
      "Dir::Etc::SourceList": path.join(state, "sources.list"),
      "Dir::Etc::SourceParts": "/dev/null",
      "Dir::State::Lists": path.join(state, "lists"),
      "Dir::Cache": path.join(state, "cache"),
      "APT::Sandbox::User": "root",
      // The machine's lock is for installing.
      "Debug::NoLocking": "true",
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
    const { stdout } = await run(program, [...options, "--quiet", ...argv], { cwd: this.#directory, timeout });
    return stdout;
  }
}

async function sources(): Promise<string> {
  const format = "$(REPO_URI) $(RELEASE) $(COMPONENT)";
  const { stdout } = await run("apt-get", ["indextargets", "--format", format, "Created-By: Packages"]);
  const known = new Map(
    stdout.split("\n").flatMap((line) => {
      const [uri = "", release = "", component] = line.split(" ");
      return component === "main" && RELEASES.includes(release) ? [[release, uri] as const] : [];
    }),
  );
  const mirror = known.get(RELEASE);
  if (mirror === undefined) throw new Error(`apt has no source for Debian ${RELEASE}`);
  known.set(BACKPORTS, mirror);
  return [...known].map(([release, uri]) => `deb [signed-by=${KEYRING}] ${uri} ${release} main\n`).join("");
}
