/** The plugin's manifest for krew, kubectl's plugin manager. The archive has one file, which runs wherever Node is. Pure. */

import { PRODUCT_VERSION } from "../../src/api/names.ts";
import { objectYaml } from "../object-yaml.ts";

export const CLI_ARCHIVE = "kubectl-macpool.tar.gz";
/** Until a release names where it is downloaded from. */
export const NO_DOWNLOAD = "https://cluster-network-addons.invalid";

const PLATFORMS = [
  { os: "linux", arch: "amd64" },
  { os: "linux", arch: "arm64" },
  { os: "darwin", arch: "amd64" },
  { os: "darwin", arch: "arm64" },
];

/** `sha256`: of the archive at `download`/kubectl-macpool.tar.gz, in hex. */
export function krewManifest({ download, sha256 }: { readonly download: string; readonly sha256: string }): object {
  return {
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "macpool" },
    spec: {
      version: `v${PRODUCT_VERSION}`,
      shortDescription: "Show which VM or pod has which MAC address",
      description:
        "Shows how full the MAC pools of a KubeVirt cluster are, who has an address, why one was refused, what collides,\n" +
        "and which ranges several clusters share.\n",
      caveats: "It needs Node 22.19 or later in PATH.\n",
      platforms: PLATFORMS.map((matchLabels) => ({
        selector: { matchLabels },
        uri: `${download}/${CLI_ARCHIVE}`,
        sha256,
        bin: "kubectl-macpool",
        files: [
          { from: "kubectl-macpool", to: "." },
          { from: "LICENSE", to: "." },
        ],
      })),
    },
  };
}

export function krewYaml(options: Parameters<typeof krewManifest>[0]): string {
  return objectYaml(krewManifest(options));
}
