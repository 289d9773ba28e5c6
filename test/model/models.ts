/** What of MacClaim.tla is checked: how much may happen, and which guards there are. */

/** What may happen besides creation and deletion of VMs. */
export type Feature = "old" | "receivers" | "turns" | "runs" | "returns" | "updates" | "torn";

/**
 * Guards of the production code: without one of them, TLC finds how two VMs get one address. The last is none of the
 * product: it is what the model takes for granted.
 */
export const GUARDS = [
  "create as lock",
  "version",
  "live read",
  "deadline kept",
  "owner comparison",
  "last admission",
  "arrived later",
  "objectsListing",
  "receiver remembered",
  "mark kept",
  "start kept",
  "start gate",
  "start noted",
  "unclaimed noted",
  "prompt starts",
] as const;

export type Guard = (typeof GUARDS)[number];

export interface Model {
  readonly policy: "Deny" | "DenyRunning";
  /** Requests of users. */
  readonly requests: number;
  readonly features: readonly Feature[];
  /** VMs; 2 unless given. */
  readonly names?: number;
  /** Replicas that believe to be the leader; 1 unless given. */
  readonly leaders?: number;
  readonly without?: Guard;
}

/** Checked by `npm test`, or a share of them, with the number of states that each has at least. */
export const SMALL: readonly (Model & { readonly states: number })[] = [
  { policy: "DenyRunning", requests: 1, features: ["old", "receivers", "runs"], states: 6_400 },
  { policy: "Deny", requests: 2, features: ["old", "updates"], states: 29_000 },
  { policy: "Deny", requests: 2, features: ["receivers", "updates"], states: 11_000 },
  { policy: "Deny", requests: 2, features: ["runs"], states: 1_900 },
  { policy: "Deny", requests: 1, features: ["old"], leaders: 2, states: 3_200 },
];

/** Guards whose absence shows within a few thousand states. */
export const SOON_MISSED: readonly Model[] = [
  { policy: "Deny", requests: 2, features: ["old"], without: "create as lock" },
  { policy: "Deny", requests: 2, features: ["updates"], without: "version" },
  { policy: "Deny", requests: 2, features: ["updates"], without: "live read" },
  { policy: "Deny", requests: 1, features: ["updates"], without: "deadline kept" },
  { policy: "Deny", requests: 2, features: ["updates"], without: "owner comparison" },
  { policy: "Deny", requests: 2, features: ["old"], without: "objectsListing" },
  { policy: "Deny", requests: 2, features: [], without: "last admission" },
  { policy: "Deny", requests: 2, features: [], without: "arrived later" },
  { policy: "DenyRunning", requests: 1, features: ["old", "runs"], without: "start gate" },
  { policy: "DenyRunning", requests: 1, features: ["old", "runs"], without: "start noted" },
  { policy: "DenyRunning", requests: 1, features: ["old", "runs"], without: "unclaimed noted" },
  { policy: "Deny", requests: 2, features: ["runs", "updates"], without: "prompt starts" },
];

/** Checked by `npm run model`: a quarter of an hour. */
export const BIG: readonly Model[] = [
  { policy: "Deny", requests: 3, features: ["updates"] },
  { policy: "Deny", requests: 2, features: ["updates"], leaders: 2 },
  { policy: "Deny", requests: 3, features: ["receivers"] },
  { policy: "Deny", requests: 2, features: ["old", "receivers", "turns"] },
  { policy: "DenyRunning", requests: 2, features: ["old", "receivers", "runs"] },
  { policy: "Deny", requests: 2, features: ["old", "receivers", "runs", "returns", "updates", "torn"] },
];

export const LATE_MISSED: readonly Model[] = [
  { policy: "Deny", requests: 2, features: ["old", "receivers", "runs"], without: "receiver remembered" },
  { policy: "Deny", requests: 2, features: ["old", "receivers", "runs"], without: "mark kept" },
  { policy: "DenyRunning", requests: 3, features: ["runs"], without: "start kept" },
];

const NAMES = ["a", "b", "c"];
const LEADERS = ["l", "m"];

/** TLC's configuration. VMs and leaders are alike, which halves the work or better. */
export function cfgOf({ policy, requests, features, names = 2, leaders = 1, without }: Model): string {
  const quoted = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(", ");
  const numbers = Array.from({ length: requests }, (_, index) => index + 1);
  const guards = GUARDS.filter((guard) => guard !== without);
  const [vms, replicas] = [NAMES.slice(0, names), LEADERS.slice(0, leaders)];
  return `SPECIFICATION Spec
CHECK_DEADLOCK FALSE
SYMMETRY Symmetry
CONSTANTS
  Names = {${vms.join(", ")}}
  Leaders = {${replicas.join(", ")}}
  Requests = {${numbers.join(", ")}}
  Policy = "${policy}"
  Features = {${quoted(features)}}
  Guards = {${quoted(guards)}}
INVARIANTS OneRuns OneHolds Claimed
`;
}

export function titleOf({ policy, requests, features, names = 2, leaders = 1 }: Model): string {
  const what = [`${names} VMs`, `${requests} requests`, `${leaders} leaders`, ...features];
  return `${policy}, ${what.join(", ")}`;
}
