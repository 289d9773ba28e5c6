import { NEARLY_FULL } from "../../api/forecast-text.ts";
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

/** How full a range is, as a bar and in exact numbers. */
export function UsageBar({ counts, label }: { readonly counts: Counts; readonly label: string }) {
  const { capacity, used, free, pending, quarantined, hostAddresses = 0, stationAddresses = 0 } = counts;
  const kept = [
    [hostAddresses - stationAddresses, "nodes' own"],
    [stationAddresses, `of ${STATIONS}`],
  ] as const;
  const keptTexts = kept.flatMap(([number, what]) => (number > 0 ? [`${count(number)} ${what}`] : []));
  const bound = used - pending - quarantined;
  const parts = [
    ["bound", bound],
    ["pending", pending],
    ["quarantined", quarantined],
  ] as const;
  const text = `${count(used)} of ${count(capacity)} used`;
  return (
    <div class={`usage ${levelOf(counts)}`}>
      <div class="bar" role="img" aria-label={`${label}: ${text}, ${percent(used, capacity)}`}>
        {parts.map(
          ([phase, number]) =>
            number > 0 && (
              <span key={phase} class={`part ${phase}`} style={{ width: `${(number / capacity) * 100}%` }} />
            ),
        )}
      </div>
      <p class="numbers">
        <strong>{percent(used, capacity)}</strong> {text}, {count(free)} free
        <span class="quiet">
          {" "}
          ({count(bound)} bound, {count(pending)} pending, {count(quarantined)} quarantined
          {keptTexts.length > 0 && `; ${keptTexts.join(", ")}, kept back`})
        </span>
      </p>
    </div>
  );
}

function levelOf({ capacity, used, free }: Counts): "full" | "nearly-full" | "" {
  if (free === 0) return "full";
  return used >= capacity * NEARLY_FULL ? "nearly-full" : "";
}
