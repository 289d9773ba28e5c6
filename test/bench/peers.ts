/** The Go reference plugins, built from their Go modules as `peers/RELEASE/go.mod` pins them. */

import { existsSync } from "node:fs";
import path from "node:path";
import { buildMissing, type GoProgram, goFlags, programFolder } from "../cluster/control-plane/go-programs.ts";

/** Today's, and the one that clusters run where the network addons were installed before. */
export type PeerRelease = "1.9.1" | "1.5.1";

const PLUGINS = "github.com/containernetworking/plugins/plugins";

const PROGRAMS: readonly GoProgram[] = [
  { name: "bridge", goPackage: `${PLUGINS}/main/bridge` },
  { name: "tuning", goPackage: `${PLUGINS}/meta/tuning` },
  { name: "host-local", goPackage: `${PLUGINS}/ipam/host-local` },
  { name: "static", goPackage: `${PLUGINS}/ipam/static` },
  { name: "cnitool", goPackage: "github.com/containernetworking/cni/cnitool" },
];

/** A directory with `bridge`, `host-local`, `static`, `tuning` and `cnitool`. Throws MissingRequirement without Go. */
export async function buildPeers(
  env: NodeJS.ProcessEnv,
  log: (line: string) => void = () => {},
  release: PeerRelease = "1.9.1",
): Promise<string> {
  const module = {
    cacheName: "cni-peers",
    directory: path.join(import.meta.dirname, "peers", release),
    release: `the Go reference plugins ${release}`,
    flags: goFlags(),
  };
  const folder = await programFolder(module, env);
  await buildMissing(module, () => PROGRAMS.filter(({ name }) => !existsSync(path.join(folder, name))), { env, log });
  return folder;
}
