/** What a release has of `kubectl macpool`: the archive, and krew's manifest with its checksum. */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { buildCli } from "../../src/cli/build.ts";
import { tar } from "../image/tar.ts";
import type { Entry } from "../image/tree.ts";
import { CLI_ARCHIVE, krewYaml } from "./manifest.ts";

const root = join(import.meta.dirname, "../..");
/** Of every entry, so that the same source gives the same archive. */
const ARCHIVE_TIME_S = 0;

export interface PackageFile {
  /** Below the folder of the release. */
  readonly path: string;
  readonly content: string | Buffer;
}

/** `download`: URL of the folder that the archive will be in. */
export async function cliPackage(download: string): Promise<readonly PackageFile[]> {
  const [program, license] = [await readFile(await buildCli()), await readFile(join(root, "LICENSE"))];
  const tree = new Map<string, Entry>([
    ["LICENSE", { kind: "file", mode: 0o644, content: license }],
    ["kubectl-macpool", { kind: "file", mode: 0o755, content: program }],
  ]);
  const archive = gzipSync(tar(tree, ARCHIVE_TIME_S), { level: 9 });
  const sha256 = createHash("sha256").update(archive).digest("hex");
  return [
    { path: `krew/${CLI_ARCHIVE}`, content: archive },
    { path: "krew/macpool.yaml", content: krewYaml({ download, sha256 }) },
  ];
}
