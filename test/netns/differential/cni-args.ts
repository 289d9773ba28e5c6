/** CNI_ARGS that a runtime could pass, seldom wrong ones. */

import type { Random } from "./random.ts";

export function makeCniArgs(random: Random): string {
  if (random.chance(0.03)) return "A=b";
  return random.chance(0.15) ? random.pick(["MAC=02:00:00:00:00:09", "IgnoreUnknown=1;A=b"]) : "";
}
