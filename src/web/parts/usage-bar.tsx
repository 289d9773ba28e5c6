import { fullnessOf, NEARLY_FULL } from "../../api/forecast-text.ts";
import { STATIONS } from "../../api/host-interfaces.ts";
import { count, percent } from "../text.ts";

interface Counts {
  readonly capacity: number;
  readonly used: number;
  readonly free: number;
  readonly pending: number;
  readonly quarantined: number;
  readonly hostAddresses?: number;
  readonly stationAddresses?: number;
}

/** How full a pool or a range is: a bar, and what is left. */
export function UsageBar({ counts, label }: { readonly counts: Counts; readonly label: string }) {
  const { capacity, used, free, pending, quarantined } = counts;
  const parts = [
    ["bound", used - pending - quarantined],
    ["pending", pending],
    ["quarantined", quarantined],
  ] as const;
  const share = percent(used, capacity);
  return (
    <div class={`usage ${levelOf(counts)}`}>
      <div class="bar" role="img" aria-label={`${label}: ${share} used`}>
        {parts.map(
          ([phase, number]) =>
            number > 0 && (
              <span key={phase} class={`part ${phase}`} style={{ width: `${(number / capacity) * 100}%` }} />
            ),
        )}
      </div>
      <span class="numbers">
        <strong>{share}</strong> {count(used)} of {count(capacity)} used, {count(free)} free
      </span>
    </div>
  );
}

/** Who has the addresses of a range. */
export function UsageNumbers({ counts }: { readonly counts: Counts }) {
  const { used, pending, quarantined, hostAddresses = 0, stationAddresses = 0 } = counts;
  const kept = [
    [hostAddresses - stationAddresses, "nodes' own"],
    [stationAddresses, `of ${STATIONS}`],
  ] as const;
  const keptTexts = kept.flatMap(([number, what]) => (number > 0 ? [`${count(number)} ${what}`] : []));
  return (
    <p class="numbers quiet">
      {count(used - pending - quarantined)} bound, {count(pending)} pending, {count(quarantined)} quarantined
      {keptTexts.length > 0 && `; ${keptTexts.join(", ")}, kept back`}
    </p>
  );
}

export function levelOf({ capacity, free }: Pick<Counts, "capacity" | "free">): "full" | "nearly-full" | "" {
  if (free === 0) return "full";
  return fullnessOf({ capacity, free }) >= NEARLY_FULL ? "nearly-full" : "";
}
