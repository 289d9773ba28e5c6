import { join } from "node:path";
import type { HostFile } from "./host-file.ts";

/** What to do about each name in the host's CNI directory, given what stands there. Pure. */

/** One executable of the image. */
export interface Plugin {
  readonly executable: string;
  readonly version: string;
  readonly sha256: string;
}

export interface Target {
  /** The file's name in the CNI directory. */
  readonly name: string;
  readonly plugin: Plugin;
  /**
   * `ours`: nobody else has a claim to this name, whatever stands there is replaced. `shared`: other software installs a
   * plugin under it too; ours goes there only while nobody else's does.
   */
  readonly claim: "ours" | "shared";
}

export type Decision =
  | { readonly action: "keep" }
  | { readonly action: "install"; readonly reason: string }
  /** Ours, of another version or build. */
  | { readonly action: "update"; readonly reason: string; readonly sha256: string; readonly version: string }
  | { readonly action: "chmod" }
  /** Somebody else's: left alone. The checksum where it is a file. */
  | { readonly action: "foreign"; readonly what: string; readonly sha256?: string }
  /** Ours by name, but nothing that a file can replace. */
  | { readonly action: "blocked"; readonly reason: string };

export const PLUGIN_MODE = 0o755;

/** Where the predecessor's pod had the CNI directory, and its links led to, whatever the directory's path on the node was. */
const PREDECESSOR_DIRECTORY = "/opt/cni/bin";

/** The prefixed name, which NetworkAttachmentDefinitions of KubeVirt use, and the plain one. */
export const installedNames = (executable: string): [own: string, plain: string] => [`cnv-${executable}`, executable];

export function targetsOf(plugins: readonly Plugin[], replaceForeign = false): Target[] {
  return plugins.flatMap((plugin): Target[] => {
    const [own, plain] = installedNames(plugin.executable);
    return [
      { name: own, plugin, claim: "ours" },
      { name: plain, plugin, claim: replaceForeign ? "ours" : "shared" },
    ];
  });
}

/** `directory`: its path on the node. */
export function decide(directory: string, target: Target, found: HostFile): Decision {
  const ours = target.claim === "ours";
  switch (found.kind) {
    case "absent":
      return { action: "install", reason: "it is not there" };
    case "file":
      if (found.sha256 === target.plugin.sha256) return { action: found.mode === PLUGIN_MODE ? "keep" : "chmod" };
      if (found.mark !== undefined) {
        const { version } = found.mark;
        return { action: "update", reason: `it was ours of version ${version}`, sha256: found.sha256, version };
      }
      if (ours) return { action: "install", reason: "its content is not ours" };
      return { action: "foreign", what: `a file with sha256 ${found.sha256}`, sha256: found.sha256 };
    case "link":
      if (ours) return { action: "install", reason: `it is a link to ${found.target}` };
      if (found.at === "absent")
        return { action: "install", reason: `it is a link to ${found.target}, which is not there` };
      // The predecessor made the plain name a link to the prefixed one.
      if (
        [directory, PREDECESSOR_DIRECTORY].some((one) => found.target === join(one, `cnv-${target.plugin.executable}`))
      ) {
        return { action: "install", reason: `it is a link to ${found.target}` };
      }
      return { action: "foreign", what: `a link to ${found.target}` };
    case "other":
      return ours
        ? { action: "blocked", reason: "there is something that is no file: remove it" }
        : { action: "foreign", what: "something that is no file" };
  }
}
