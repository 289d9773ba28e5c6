/** What is in the image besides the product: Node, its libraries, and the few files of /etc that they read. No shell. */

import type { Arch } from "../../cni-plugins/build/toolchain.ts";
import { NON_ROOT } from "../../src/api/image.ts";
import { type DebianOptions, debianTree } from "./debian.ts";
import { nodeTree } from "./node-runtime.ts";
import type { Pins } from "./pins.ts";
import { type Entry, file, type Tree } from "./tree.ts";

export async function baseTree(pins: Pins, arch: Arch, options: DebianOptions): Promise<Tree> {
  const trees = [await debianTree(pins.debian, arch, options), await nodeTree(pins.node, arch, options.env)];
  return new Map([...etc(pins), ...FOLDERS, ...trees.flatMap((tree) => [...tree])]);
}

/** Where a runtime mounts what a read-only root can't make room for. */
const FOLDERS = new Map<string, Entry>([
  ...["dev", "proc", "run", "sys"].map((name): [string, Entry] => [name, { kind: "directory", mode: 0o755 }]),
  ["tmp", { kind: "directory", mode: 0o1777 }],
  ["var/run", { kind: "link", target: "../run" }],
]);

function etc({ debian }: Pins): Map<string, Entry> {
  return new Map([
    ["etc/passwd", file(`root:x:0:0:root:/:/none\nnonroot:x:${NON_ROOT}:${NON_ROOT}:nonroot:/:/none\n`)],
    ["etc/group", file(`root:x:0:\nnonroot:x:${NON_ROOT}:\n`)],
    ["etc/nsswitch.conf", file("hosts: files dns\n")],
    // Scanners of images look up the packages in var/lib/dpkg/status.d by this release.
    [
      "etc/os-release",
      file(
        `PRETTY_NAME="Debian GNU/Linux ${debian.version} (${debian.release}), libraries only"\nNAME="Debian GNU/Linux"\nVERSION_ID="${debian.version}"\nVERSION_CODENAME=${debian.release}\nID=debian\n`,
      ),
    ],
  ]);
}
