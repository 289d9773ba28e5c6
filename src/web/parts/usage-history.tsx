import type { DayUsage } from "../../api/mac-pool.ts";
import { count } from "../text.ts";

const DAY_MS = 86_400_000;
const DAYS = 30;
/** A day is one wide; the style stretches both. */
const HEIGHT = 10;

/**
 * Used addresses of the last 30 days as a line of steps: a day without an entry is as the one before. Nothing where less than
 * two days are known.
 */
export function UsageHistory({ history, nowMs }: { readonly history: readonly DayUsage[]; readonly nowMs: number }) {
  const today = Math.floor(nowMs / DAY_MS);
  const days = history.map((each) => ({ ...each, day: DAYS + Math.floor(Date.parse(each.date) / DAY_MS) - today }));
  const points = days.filter((_, index) => (days[index + 1]?.day ?? 1) > 0);
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined || first === last) return null;
  const most = Math.max(1, ...points.map(({ used }) => used));
  const y = (used: number): number => HEIGHT * (1 - used / most);
  const steps = points.map(({ day, used }) => `H${Math.min(DAYS, Math.max(0, day))}V${y(used)}`).join("");
  const text = `Used: ${count(first.used)} on ${first.date}, ${count(last.used)} now, ${count(most)} at most.`;
  return (
    <figure class="usage-history">
      <svg viewBox={`0 0 ${DAYS + 1} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={text}>
        <path d={`M${Math.max(0, first.day)} ${y(first.used)}${steps}H${DAYS + 1}`} />
      </svg>
      <figcaption class="numbers quiet">{text}</figcaption>
    </figure>
  );
}
