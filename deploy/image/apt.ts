/**
 * apt with its state in a folder of its own: any Debian release and architecture, whatever the machine runs, and without
 * root. The mirror is the one that the machine's apt has for Debian. Or the machine's own sources, whatever they are.
 */

import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Ran } from "../../cni-plugins/build/command.ts";
import { lastLine, run } from "./command.ts";
import { ImageError } from "./image-error.ts";

const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
const INSTALL = "apt (the image's libraries are Debian packages)";
const SOURCES = "our.sources";
/** Code names of Debian, as they stand in a machine's sources. */
const RELEASES = /^(stable|oldstable|testing|bullseye|bookworm|trixie|forky)(-security)?$/;

export interface Stanza {
  readonly source: string;
  readonly version: string;
  readonly sha256: string;
}

export interface AptOptions {
  /** Debian's names; the first is the one of packages that are named without. */
  readonly architectures: readonly string[];
  /** What is installed, as dpkg keeps it: nothing by default. */
  readonly status?: string;
  /** Whether packages come from where the machine's own come from. Then `updateFromMachine` reads the lists. */
  readonly ofMachine?: boolean;
}

export class Apt {
  readonly #folder: string;
  readonly #options: readonly string[];

  constructor(folder: string, { architectures, status = "/dev/null", ofMachine = false }: AptOptions) {
    this.#folder = folder;
    const [main = ""] = architectures;
    const settings = {
      "Dir::State": path.join(folder, "state"),
      "Dir::State::status": status,
      "Dir::Cache": path.join(folder, "cache"),
      ...(!ofMachine && {
        "Dir::Etc::SourceList": path.join(folder, SOURCES),
        "Dir::Etc::SourceParts": "/dev/null",
      }),
      "APT::Architecture": main,
      "APT::Get::List-Cleanup": "false",
      "APT::Sandbox::User": "",
      // The machine's lock is for installing.
      "Debug::NoLocking": "true",
      "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
    };
    this.#options = [
      "-q",
      ...Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`]),
      ...architectures.flatMap((arch) => ["-o", `APT::Architectures::=${arch}`]),
    ];
  }

  /** The folder of the packages that `apt-get install --download-only` has got. */
  get archives(): string {
    return path.join(this.#folder, "cache/archives");
  }

  /**
   * Reads the lists of these releases; one for security is left out where its mirror is not known. `mirror`: in place of
   * the machine's.
   */
  async update(releases: readonly string[], mirror?: string): Promise<void> {
    const mirrors = mirror === undefined ? await this.#mirrorsOfMachine() : { main: mirror, security: undefined };
    await this.#makeFolders();
    const stanzas = releases.flatMap((release) => {
      const uri = release.endsWith("-security") ? mirrors.security : mirrors.main;
      const stanza = `Types: deb\nURIs: ${uri}\nSuites: ${release}\nComponents: main\nSigned-By: ${KEYRING}\n`;
      return uri === undefined ? [] : [stanza];
    });
    await writeFile(path.join(this.#folder, SOURCES), stanzas.join("\n"));
    const updated = await this.run("apt-get", ["update"]);
    // apt ends with 0 also when it got nothing.
    if (updated.code !== 0 || /^(W|E|Err:)/m.test(`${updated.stderr}\n${updated.stdout}`)) {
      const failure = /^(?:W|E): (Failed to fetch .*)$/m.exec(updated.stderr)?.[1] ?? lastLine(updated);
      throw new ImageError(`apt could not read the package lists of Debian ${releases[0]}: ${failure}`);
    }
  }

  /** A source that can't be read is left out: what is missed then shows when a package is asked for. */
  async updateFromMachine(): Promise<void> {
    await this.#makeFolders();
    await this.run("apt-get", ["update"]);
  }

  async download(name: string, arch: string, version: string, folder: string): Promise<void> {
    const wanted = `${name}:${arch}=${version}`;
    const downloaded = await this.run("apt-get", ["download", wanted], folder);
    if (downloaded.code === 0) return;
    const gone = /Version .* was not found|Unable to locate/.test(downloaded.stderr);
    throw new ImageError(
      gone
        ? `The Debian mirror has no ${name} ${version} for ${arch} any more: run \`npm run build:image -- --renew-pins\` and commit deploy/image/pins.json`
        : `apt could not download ${wanted}: ${lastLine(downloaded)}`,
    );
  }

  /** The newest version. */
  async show(name: string, arch: string): Promise<Stanza> {
    const { stdout } = await this.run("apt-cache", ["show", "--no-all-versions", `${name}:${arch}`]);
    const field = (key: string): string | undefined => new RegExp(`^${key}: (.*)$`, "m").exec(stdout)?.[1];
    const [version, sha256] = [field("Version"), field("SHA256")];
    if (version === undefined || sha256 === undefined) throw new ImageError(`Debian has no ${name} for ${arch}`);
    return { source: field("Source")?.replace(/ .*/, "") ?? name, version, sha256 };
  }

  async #makeFolders(): Promise<void> {
    await mkdir(path.join(this.#folder, "state/lists/partial"), { recursive: true });
    await mkdir(path.join(this.archives, "partial"), { recursive: true });
  }

  async #mirrorsOfMachine(): Promise<{ readonly main: string; readonly security: string | undefined }> {
    const targets = await run("apt-get", ["indextargets"], { cwd: this.#folder, install: INSTALL });
    const sites = new Map<string, string>();
    for (const target of targets.stdout.split("\n\n")) {
      const release = /^Release: (.*)$/m.exec(target)?.[1] ?? "";
      const site = /^Site: (.*)$/m.exec(target)?.[1];
      const [known, , security] = RELEASES.exec(release) ?? [];
      if (known !== undefined && site !== undefined) sites.set(security === undefined ? "main" : "security", site);
    }
    const main = sites.get("main");
    if (main === undefined) {
      throw new ImageError(
        "apt of this machine has no Debian mirror for the image's libraries: name one with --debian-mirror URL",
      );
    }
    return { main, security: sites.get("security") };
  }

  /** A program of apt's. */
  run(command: string, args: readonly string[], cwd = this.#folder): Promise<Ran> {
    return run(command, [...this.#options, ...args], { cwd, install: INSTALL });
  }
}
