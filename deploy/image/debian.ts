/** The libraries that Node needs, out of Debian packages that are unpacked and never installed. */

import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { withTemporaryFolder } from "../../cni-plugins/build/temporary-folder.ts";
import type { Arch } from "../../cni-plugins/build/toolchain.ts";
import { sayingWhere } from "../../cni-plugins/build/unwritable.ts";
import { Apt } from "./apt.ts";
import { lastLine, run } from "./command.ts";
import { ImageError } from "./image-error.ts";
import { fetchInput } from "./inputs.ts";
import type { DebianPin, Pins } from "./pins.ts";
import { type Entry, file, type Tree } from "./tree.ts";

const TRIPLETS: Readonly<Record<Arch, string>> = { amd64: "x86_64-linux-gnu", arm64: "aarch64-linux-gnu" };

/** The files of each package that the image takes, besides its copyright file. */
const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  libc6: ["libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0"],
  "libgcc-s1": ["libgcc_s.so.1"],
  "libstdc++6": ["libstdc++.so.6"],
};

/** Where executables look for the loader: [path in the image, file of the package]. */
const LOADERS: Readonly<Record<Arch, readonly [link: string, target: string]>> = {
  amd64: ["usr/lib64/ld-linux-x86-64.so.2", "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"],
  arm64: ["usr/lib/ld-linux-aarch64.so.1", "usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1"],
};

const ARCHITECTURES: readonly Arch[] = ["amd64", "arm64"];

const releasesOf = ({ release }: Pins["debian"]): string[] => [release, `${release}-security`];

/** Where packages are unpacked, and apt keeps its lists. */
const TEMPORARY = { parent: tmpdir(), elsewhere: "TMPDIR" };

export interface DebianOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly mirror: string | undefined;
}

/** Libraries, the loader, copyright files, and the control files by which scanners of images find the packages. */
export async function debianTree(pins: Pins["debian"], arch: Arch, options: DebianOptions): Promise<Tree> {
  const tree = new Map<string, Entry>();
  await withApt(async (apt, folder) => {
    let updated: Promise<void> | undefined;
    for (const pin of pins.packages) {
      const archive = await fetchInput(
        {
          name: `the Debian package ${pin.name} ${pin.version} for ${arch}`,
          hash: { algorithm: "sha256", hex: pin.sha256[arch] },
          download: async (target) => {
            updated ??= sayingWhere(TEMPORARY, () => apt.update(releasesOf(pins), options.mirror));
            await updated;
            await apt.download(pin.name, arch, pin.version, target);
          },
        },
        options.env,
      );
      for (const [name, entry] of await takeFiles(pin, archive, arch, path.join(folder, pin.name)))
        tree.set(name, entry);
    }
  });
  tree.set("lib", { kind: "link", target: "usr/lib" });
  if (arch === "amd64") tree.set("lib64", { kind: "link", target: "usr/lib64" });
  return tree;
}

async function takeFiles(pin: DebianPin, archive: string, arch: Arch, folder: string): Promise<[string, Entry][]> {
  const dpkg = { cwd: path.dirname(folder), install: "dpkg" };
  for (const args of [
    ["-x", archive, folder],
    ["-e", archive, path.join(folder, "DEBIAN")],
  ]) {
    const done = await run("dpkg-deb", args, dpkg);
    if (done.code !== 0) throw new ImageError(`dpkg-deb could not unpack ${pin.name}: ${lastLine(done)}`);
  }
  const read = (name: string): Promise<Buffer> => readFile(path.join(folder, name));
  const libraries = (LIBRARIES[pin.name] ?? []).map((name) => `usr/lib/${TRIPLETS[arch]}/${name}`);
  const entries: [string, Entry][] = [];
  // A library whose name is a link is stored under the link's name: the loader asks for no other.
  for (const name of libraries) entries.push([name, file(await read(name), 0o755)]);
  if (pin.name === "libc6") {
    const [link, target] = LOADERS[arch];
    entries.push([target, file(await read(target), 0o755)]);
    entries.push([link, { kind: "link", target: path.posix.relative(path.posix.dirname(link), target) }]);
  }
  entries.push([`var/lib/dpkg/status.d/${pin.name}`, file(await read("DEBIAN/control"))]);
  const copyright = await read(`usr/share/doc/${pin.name}/copyright`).catch(() => undefined);
  if (copyright !== undefined) entries.push([`usr/share/doc/${pin.name}/copyright`, file(copyright)]);
  return entries;
}

/** The newest packages of a release. */
export function newestPackages(pins: Pins["debian"], mirror: string | undefined): Promise<Pins["debian"]> {
  return withApt(async (apt) => {
    await apt.update(releasesOf(pins), mirror);
    const packages: DebianPin[] = [];
    for (const { name } of pins.packages) {
      const [amd64, arm64] = [await apt.show(name, "amd64"), await apt.show(name, "arm64")];
      if (amd64.version !== arm64.version) {
        throw new ImageError(
          `Debian has ${name} ${amd64.version} for amd64 and ${arm64.version} for arm64: try again later`,
        );
      }
      const { source, version } = amd64;
      packages.push({ name, source, version, sha256: { amd64: amd64.sha256, arm64: arm64.sha256 } });
    }
    return { ...pins, packages };
  });
}

function withApt<T>(work: (apt: Apt, folder: string) => Promise<T>): Promise<T> {
  return withTemporaryFolder({ ...TEMPORARY, prefix: "image-debian-" }, (folder) =>
    work(new Apt(folder, { architectures: ARCHITECTURES }), folder),
  );
}
