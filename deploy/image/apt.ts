/**
 * apt with its state in a folder of its own: any Debian release and architecture, whatever the machine runs, and without
 * root. The mirror is the one that the machine's apt has for Debian.
 */

import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { lastLine, run } from "./command.ts";
import { ImageError } from "./image-error.ts";

const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
const INSTALL = "apt (the image's libraries are Debian packages)";
/** Code names of Debian, as they stand in a machine's sources. */
const RELEASES = /^(stable|oldstable|testing|bullseye|bookworm|trixie|forky)(-security)?$/;

export interface Stanza {
  readonly source: string;
  readonly version: string;
  readonly sha256: string;
}

export class Apt {
  readonly #folder: string;
  readonly #options: readonly string[];

  constructor(folder: string) {
    this.#folder = folder;
    const settings = {
      "Dir::State": path.join(folder, "state"),
      "Dir::State::status": "/dev/null",
      "Dir::Cache": path.join(folder, "cache"),
      "Dir::Etc::SourceList": path.join(folder, "image.sources"),
      "Dir::Etc::SourceParts": "/dev/null",
      "APT::Architecture": "amd64",
      "APT::Get::List-Cleanup": "false",
      "APT::Sandbox::User": "",
      "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
    };
    const architectures = ["amd64", "arm64"].flatMap((arch) => ["-o", `APT::Architectures::=${arch}`]);
    this.#options = [
      "-q",
      ...Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`]),
      ...architectures,
    ];
  }

  /** Reads the lists of `release`. `mirror`: in place of the machine's. */
  async update(release: string, mirror: string | undefined): Promise<void> {
    const mirrors = mirror === undefined ? await this.#mirrorsOfMachine() : { main: mirror, security: undefined };
    await mkdir(path.join(this.#folder, "state/lists/partial"), { recursive: true });
    await mkdir(path.join(this.#folder, "cache/archives/partial"), { recursive: true });
    const stanza = (uri: string, suite: string): string =>
      `Types: deb\nURIs: ${uri}\nSuites: ${suite}\nComponents: main\nSigned-By: ${KEYRING}\n`;
    const stanzas = [
      stanza(mirrors.main, release),
      ...(mirrors.security === undefined ? [] : [stanza(mirrors.security, `${release}-security`)]),
    ];
    await writeFile(path.join(this.#folder, "image.sources"), stanzas.join("\n"));
    const updated = await this.#run("apt-get", ["update"]);
    // apt ends with 0 also when it got nothing.
    if (updated.code !== 0 || /^(W|E|Err:)/m.test(`${updated.stderr}\n${updated.stdout}`)) {
      const failure = /^(?:W|E): (Failed to fetch .*)$/m.exec(updated.stderr)?.[1] ?? lastLine(updated);
      throw new ImageError(`apt could not read the package lists of Debian ${release}: ${failure}`);
    }
  }

  async download(name: string, arch: string, version: string, folder: string): Promise<void> {
    const wanted = `${name}:${arch}=${version}`;
    const downloaded = await this.#run("apt-get", ["download", wanted], folder);
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
    const { stdout } = await this.#run("apt-cache", ["show", "--no-all-versions", `${name}:${arch}`]);
    const field = (key: string): string | undefined => new RegExp(`^${key}: (.*)$`, "m").exec(stdout)?.[1];
    const [version, sha256] = [field("Version"), field("SHA256")];
    if (version === undefined || sha256 === undefined) throw new ImageError(`Debian has no ${name} for ${arch}`);
    return { source: field("Source")?.replace(/ .*/, "") ?? name, version, sha256 };
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

  #run(command: string, args: readonly string[], cwd = this.#folder) {
    return run(command, [...this.#options, ...args], { cwd, install: INSTALL });
  }
}
