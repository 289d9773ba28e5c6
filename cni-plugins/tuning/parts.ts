/**
 * The parts of the plugin's bytecode: `tuning` is all that `main.ts` does not need to answer VERSION, whose verbs have too
 * much in common to be parts of their own. Each part has its own copy of what it imports: no class may cross.
 */

import type { Host } from "../host/host.ts";

export interface Parts {
  readonly tuning: typeof import("./tuning.ts");
  readonly "allow-list": typeof import("./allow-list.ts");
  readonly refusal: typeof import("./refusal.ts");
}

/** Relative to this file. */
export const PART_FILES: Readonly<Record<keyof Parts, string>> = {
  tuning: "./tuning.ts",
  "allow-list": "./allow-list.ts",
  refusal: "./refusal.ts",
};

export function load<P extends keyof Parts>(host: Host, part: P): Parts[P] {
  return host.load(part) as Parts[P];
}
