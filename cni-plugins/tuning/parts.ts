/** All that `main.ts` does not need to answer VERSION. The verbs have too much in common to be worth parts of their own. */

import type { Host } from "../host/host.ts";

export const PART_FILES = { tuning: "./tuning.ts" };

export function load(host: Host, part: keyof typeof PART_FILES): typeof import("./tuning.ts") {
  return host.load(part) as typeof import("./tuning.ts");
}
