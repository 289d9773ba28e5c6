import { formatMac, POD_BRIDGE_MAC } from "../../api/mac.ts";
import {
  type DayUsage,
  describeRanges,
  type MACPool,
  MAX_HISTORY_DAYS,
  type MacPoolStatus,
} from "../../api/mac-pool.ts";
import { formatRange } from "../../api/mac-range.ts";
import type { Pool, PoolCounts } from "./pool.ts";
import { describeFull, MORE_ADDRESSES } from "./pool-fullness.ts";
import type { Skipped } from "./segments.ts";

type Condition = NonNullable<MacPoolStatus["conditions"]>[number];

export interface StatusCounts extends PoolCounts {
  /** Addresses of the pool's claims that nodes have too. */
  readonly hostConflicts: number;
}

export interface PoolStatusInput {
  readonly object: MACPool;
  readonly pool: Pool;
  readonly counts: StatusCounts;
  /** What is wrong with the ranges of the spec. */
  readonly problem: string | undefined;
  /** Names of pools that share addresses with this one. */
  readonly overlapping: readonly string[];
  /** How far the adoption of its objects is; undefined while that is not known. */
  readonly adoption: { readonly owners: number; readonly adopted: number; readonly tookMs: number } | undefined;
  /** Why the webhooks refuse every caller, or soon will. */
  readonly servingProblem?: string | undefined;
  /** RFC 3339. */
  readonly now: string;
}

/** The status to write; undefined when the object has it already. */
export function poolStatus(input: PoolStatusInput): MacPoolStatus | undefined {
  const { object, pool, counts, now } = input;
  const { ranges, spans } = pool.settings.segments;
  const { history } = object.status ?? {};
  const status: MacPoolStatus = {
    ...(object.metadata.generation === undefined ? {} : { observedGeneration: object.metadata.generation }),
    ranges: ranges.map(formatRange),
    range: describeRanges(spans.map(formatRange)),
    ...counts,
    ...(history && { history }),
    conditions: conditionsOf(input).map((next) => timed(next, object.status?.conditions ?? [], now)),
  };
  if (isSame(status, object.status)) return undefined;
  return { ...status, history: withUsage(history, now.slice(0, DATE_CHARS), counts.used) };
}

const DATE_CHARS = "2026-01-01".length;

/** Where the clock went back, the last day goes on. */
function withUsage(history: readonly DayUsage[] = [], today: string, used: number): DayUsage[] {
  const last = history.at(-1);
  const goesOn = last !== undefined && last.date >= today;
  const day = { date: goesOn ? last.date : today, used };
  return [...(goesOn ? history.slice(0, -1) : history), day].slice(-MAX_HISTORY_DAYS);
}

function conditionsOf(input: PoolStatusInput): Condition[] {
  const { pool, problem, overlapping } = input;
  const { free } = pool.counts;
  return [
    validity(pool, problem),
    free === 0
      ? yes("Full", "RangeFull", `${describeFull(pool.name, pool.counts)} ${MORE_ADDRESSES}`)
      : no("Full", "AddressesFree"),
    overlapping.length > 0
      ? yes(
          "Overlapping",
          "SharedAddresses",
          `some of its addresses are also in MACPool ${overlapping.join(", ")}. No address is given out twice.`,
        )
      : no("Overlapping", "OwnAddresses"),
    ...adopted(input),
    ...(input.servingProblem === undefined
      ? []
      : [{ ...no("Serving", "NoClientAuthority"), message: input.servingProblem }]),
  ];
}

function adopted({ adoption, object }: PoolStatusInput): readonly Condition[] {
  if (adoption === undefined) return object.status?.conditions?.filter(({ type }) => type === "Adopted") ?? [];
  const { owners, adopted, tookMs } = adoption;
  if (adopted < owners) {
    const message = `${adopted} of ${owners} objects whose addresses had no claim are adopted. None of their addresses is given out meanwhile.`;
    return [{ ...no("Adopted", "Adopting"), message }];
  }
  const message = `${owners} objects whose addresses had no claim were adopted in ${Math.ceil(tookMs / 1000)} s.`;
  return [yes("Adopted", "AllAdopted", owners === 0 ? "" : message)];
}

function validity(pool: Pool, problem: string | undefined): Condition {
  if (problem !== undefined) {
    const inForce = pool.settings.segments.toString() || "none";
    return { ...no("Valid", "InvalidRange"), message: `${problem}. Ranges in force: ${inForce}.` };
  }
  return yes("Valid", "RangesValid", describeSkipped(pool.settings.segments.skipped));
}

function describeSkipped({ multicast, podBridge }: Skipped): string {
  const some = `The pool skips ${multicast.toLocaleString("en-US")} multicast addresses of its ranges, which no interface can have.`;
  const one = `The pool skips ${formatMac(POD_BRIDGE_MAC)}, which KubeVirt gives to the bridge in the pod of a VM.`;
  return [...(multicast > 0 ? [some] : []), ...(podBridge ? [one] : [])].join(" ");
}

const yes = (type: string, reason: string, message: string): Condition => ({
  type,
  status: "True",
  reason,
  ...(message === "" ? {} : { message }),
});

const no = (type: string, reason: string): Condition => ({ type, status: "False", reason });

function timed(next: Condition, before: readonly Condition[], now: string): Condition {
  const old = before.find(({ type }) => type === next.type);
  const since = old?.status === next.status ? old.lastTransitionTime : undefined;
  return { ...next, lastTransitionTime: since ?? now };
}

function isSame(status: MacPoolStatus, before: MacPoolStatus | undefined): boolean {
  return before !== undefined && JSON.stringify(sorted(status)) === JSON.stringify(sorted(before));
}

/** Objects with their keys in order, so that two of them can be compared as text. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, entry]) => [key, sorted(entry)]),
  );
}
