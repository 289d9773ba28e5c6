/** What a runtime may call besides ADD, CHECK and DEL: some cases have some of them. */

import type { Random } from "../../support/random.ts";

/** In the order of the calls: STATUS is before the ADD, the next five are between CHECK and DEL. */
export const EXTRAS = [
  "STATUS",
  "second ADD",
  "GC without a list",
  "GC of others",
  "GC",
  "DEL without netns",
  "second DEL",
] as const;

export type Extra = (typeof EXTRAS)[number];

/** Calls of 1.1.0. */
const NEWEST: readonly Extra[] = ["STATUS", "GC without a list", "GC of others", "GC"];

export function pickExtras(random: Random, cniVersion: unknown): Extra[] {
  return EXTRAS.filter((extra) => random.chance(NEWEST.includes(extra) ? (cniVersion === "1.1.0" ? 0.3 : 0.02) : 0.12));
}
