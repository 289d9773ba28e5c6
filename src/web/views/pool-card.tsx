import { rateText, secondsInWords, whenFullText } from "../../api/forecast-text.ts";
import { describeStations } from "../../api/host-interfaces.ts";
import type { PoolView } from "../../mac-pool/inspection/rest/views.ts";
import { Fact } from "../parts/fact.tsx";
import { levelOf, UsageBar, UsageNumbers } from "../parts/usage-bar.tsx";
import { UsageHistory } from "../parts/usage-history.tsx";
import { nowMs } from "../refresh-tick.ts";
import { linkTo } from "../route.ts";
import { counted, fullness } from "../text.ts";

/** One line while all is well. Its reader opens the rest. */
export function PoolCard({ pool }: { readonly pool: PoolView }) {
  const {
    name,
    ranges,
    exclusions,
    serves,
    conflictPolicy,
    conflictScope,
    explicitAddresses = "Anywhere",
    daysToFull,
    rate,
    problem,
    hostConflicts = 0,
  } = pool;
  const level = levelOf(pool);
  const isHealthy =
    level === "" &&
    problem === undefined &&
    hostConflicts === 0 &&
    ranges.every(({ stations }) => stations === undefined);
  return (
    <details class={`pool ${level}`} open={!isHealthy}>
      <summary>
        <h3>{name}</h3>
        <UsageBar counts={pool} label={`Pool ${name}`} />
        <span class="when-full">{whenFullText(pool)}</span>
      </summary>
      {problem !== undefined && (
        <p role="alert" class="notice bad">
          {problem}
        </p>
      )}
      {ranges.map((range) => {
        const label = `${range.first}-${range.last}`;
        return (
          <div class="range" key={label}>
            <a class="mac" href={linkTo("map", [name], { from: range.first, to: range.last })}>
              {range.first} <span class="dash">–</span> {range.last}
            </a>
            {ranges.length > 1 && <UsageBar counts={range} label={label} />}
            <UsageNumbers counts={range} />
            {range.stations !== undefined && <p class="notice">{describeStations(range.stations)}</p>}
          </div>
        );
      })}
      <UsageHistory history={pool.history ?? []} nowMs={nowMs.value} />
      <p class="forecast">
        {fullness(daysToFull)} <a href={linkTo("map", [name])}>Map of {name}</a>
      </p>
      <dl class="facts">
        <Fact name="Serves">{serves}</Fact>
        <Fact name="A day">{rateText(rate)}</Fact>
        <Fact name="Same address twice">{policyInWords(conflictPolicy, conflictScope)}</Fact>
        <Fact name="Addresses by hand">{`${EXPLICIT[explicitAddresses]} (${explicitAddresses})`}</Fact>
        <Fact name="Quarantine">{secondsInWords(pool.quarantineSeconds)} after release</Fact>
        {hostConflicts > 0 && (
          <Fact name="Of an object and of a node">
            <a href={linkTo("consistency")}>{counted(hostConflicts, "address", "addresses")}</a>
          </Fact>
        )}
        {pool.outOfRange > 0 && (
          <Fact name="Outside the ranges">
            <a href={linkTo("addresses", [], { outOfRange: name })}>
              {counted(pool.outOfRange, "address", "addresses")}
            </a>
          </Fact>
        )}
        {exclusions.length > 0 && <Fact name="Never given out">{exclusions.join(", ")}</Fact>}
      </dl>
    </details>
  );
}

const POLICIES: Readonly<Record<PoolView["conflictPolicy"], string>> = {
  Deny: "refused",
  Warn: "admitted with a warning",
  DenyRunning: "admitted, but only one of them can run",
};

const EXPLICIT: Readonly<Record<NonNullable<PoolView["explicitAddresses"]>, string>> = {
  Anywhere: "any",
  OwnPool: "in the ranges of this pool",
  OutsidePools: "in the range of no pool",
};

function policyInWords(policy: PoolView["conflictPolicy"], scope: PoolView["conflictScope"]): string {
  return `${POLICIES[policy]} ${scope === "Cluster" ? "in the whole cluster" : "on networks that can meet"} (${policy})`;
}
