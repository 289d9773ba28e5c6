/** What a runtime could pass besides the configuration, seldom something wrong. */

import type { Random } from "../../support/random.ts";

export function makeCniArgs(random: Random): string {
  if (random.chance(0.03)) return "A=b";
  return random.chance(0.15) ? random.pick(["MAC=02:00:00:00:00:09", "IgnoreUnknown=1;A=b"]) : "";
}

/** Wrong or unusual. Not the plugin's own namespace: the reference attaches, and says afterwards that it must not. */
const ODD_VARIABLES = [
  { CNI_NETNS: "/run/netns/nowhere" },
  { CNI_NETNS: "" },
  { CNI_IFNAME: "" },
  { CNI_IFNAME: "sixteen-letters-" },
  { CNI_IFNAME: "a/b" },
  { CNI_IFNAME: "a:b" },
  { CNI_IFNAME: ".." },
  { CNI_CONTAINERID: "" },
  { CNI_CONTAINERID: "-c1" },
  { CNI_CONTAINERID: "c".repeat(225) },
  { CNI_CONTAINERID: "c".repeat(300) },
  { CNI_PATH: "" },
] as const;

export function makeVariables(random: Random): Readonly<Record<string, string>> {
  return random.chance(0.03) ? random.pick<Readonly<Record<string, string>>>(ODD_VARIABLES) : {};
}
