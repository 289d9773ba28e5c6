/**
 * What says of a CNI executable that it is ours, and of which version: its last line, behind all that the kernel loads. The
 * build writes it and the installer reads it; `tail -n 1 FILE` shows it. Part of the contract (`src/api`).
 */
import { PRODUCT_VERSION } from "./names.ts";

export interface PluginMark {
  /** The file's name in the image; on nodes it is also installed as `cnv-EXECUTABLE`. */
  readonly executable: string;
  readonly version: string;
}

/** The end of a file in which a mark is looked for. */
export const MARK_BYTES = 128;

const MARK = /\ncluster-network-addons ([a-z-]+) (\S+)\n$/;

export function formatPluginMark(executable: string, version: string = PRODUCT_VERSION): string {
  return `\ncluster-network-addons ${executable} ${version}\n`;
}

/** `end`: the last MARK_BYTES of a file, or all of a shorter one. */
export function parsePluginMark(end: string): PluginMark | undefined {
  const [, executable, version] = MARK.exec(end) ?? [];
  return executable === undefined || version === undefined ? undefined : { executable, version };
}
