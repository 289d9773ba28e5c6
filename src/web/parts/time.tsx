import { nowMs } from "../refresh-tick.ts";
import { localTime, relativeTime } from "../text.ts";

/** How long ago, with the exact time on hover and in print. */
export function Time({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={localTime(at)}>
      <span class="ago">{relativeTime(at, nowMs.value)}</span>
      <span class="exact">{localTime(at)}</span>
    </time>
  );
}
