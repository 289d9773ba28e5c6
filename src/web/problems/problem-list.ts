import { reasonKey } from "../../api/refusal-text.ts";
import type { CollisionView, DenialView, FindingView } from "../../mac-pool/inspection/rest/views.ts";

/** Everything that is wrong, in one list. Pure. */

export type Problem =
  | { readonly kind: "collision"; readonly key: string; readonly collision: CollisionView }
  | { readonly kind: "finding"; readonly key: string; readonly finding: FindingView }
  /** Refused for one reason, the newest first. */
  | { readonly kind: "refusals"; readonly key: string; readonly denials: readonly [DenialView, ...DenialView[]] };

interface Known {
  readonly collisions: readonly CollisionView[];
  /** The newest first. */
  readonly denials: readonly DenialView[];
  readonly findings: readonly FindingView[];
}

/** A refusal of yesterday is no problem of today. */
const RECENT_MS = 86_400_000;

/** Whether it counts: somebody who asks by a dry run wants to know, and nothing failed. */
export function isRecent({ at, dryRun }: DenialView, nowMs: number): boolean {
  return !dryRun && nowMs - Date.parse(at) < RECENT_MS;
}

/** Collisions, as many as their tile counts, then the worst first: VMs that can't be created or can't start, and what nobody feels yet. */
export function problemsOf({ collisions, denials, findings }: Known, nowMs: number): readonly Problem[] {
  const colliding = new Set(collisions.map(({ mac }) => mac));
  const problems: Problem[] = [
    ...collisions.map((collision) => ({ kind: "collision", key: collision.mac, collision }) as const),
    ...findings
      .filter(({ code, mac = "" }) => !(IN_USE_TWICE.has(code) && colliding.has(mac)))
      .map((finding) => ({ kind: "finding", key: keyOfFinding(finding), finding }) as const),
    ...refusals(denials.filter((denial) => isRecent(denial, nowMs))),
  ];
  return problems.sort((one, other) => rankOf(one) - rankOf(other));
}

/** Whether frames reach the wrong one, or nothing can be created. */
export function isBad(problem: Problem): boolean {
  return rankOf(problem) <= WORST && !(problem.kind === "collision" && problem.collision.isSaid === true);
}

/** An entry of collisions says the same. */
const IN_USE_TWICE: ReadonlySet<FindingView["code"]> = new Set(["SHARED_ADDRESS", "SEEN_ELSEWHERE"]);

/** Only what pods say of themselves makes it one. */
const RANK_OF_SAID = 1;
const WORST = 3;
const RANKS: Readonly<Partial<Record<FindingView["code"], number>>> = {
  NO_POOL: 2,
  POOL_INVALID: 2,
  POOL_FULL: 2,
  HOST_CONFLICT: 3,
  SEEN_ELSEWHERE: 3,
  SHARED_ADDRESS: 3,
  VM_WAITS_FOR_NODE: 4,
  NETWORK_FAULTY: 4,
  BRIDGE_FAULTY: 4,
  STATIONS_IN_RANGE: 4,
  NO_LEADER: 4,
};
const RANK_OF_REFUSALS = 5;
const RANK_OF_OTHERS = 6;

function rankOf(problem: Problem): number {
  if (problem.kind === "collision") return problem.collision.isSaid === true ? RANK_OF_SAID : 0;
  if (problem.kind === "refusals") return RANK_OF_REFUSALS;
  return RANKS[problem.finding.code] ?? RANK_OF_OTHERS;
}

function refusals(denials: readonly DenialView[]): Problem[] {
  return [...Map.groupBy(denials, reasonKey)].flatMap(([key, [first, ...others]]) =>
    first === undefined ? [] : [{ kind: "refusals", key, denials: [first, ...others] }],
  );
}

export const keyOfFinding = ({ code, mac, pool, owner, message }: FindingView): string =>
  `${code}/${mac}/${pool}/${owner?.namespace}/${owner?.name}/${message}`;
