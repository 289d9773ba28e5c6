import { fullnessOf } from "../../api/forecast-text.ts";
import type { ConsistencyView, ListView, PoolView } from "../../mac-pool/inspection/rest/views.ts";
import { collisionList, collisions, denialList, denials } from "../live-lists.ts";
import { Empty } from "../parts/empty.tsx";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { nowMs } from "../refresh-tick.ts";
import { linkTo, type View } from "../route.ts";
import { count, counted } from "../text.ts";
import { useQuery } from "../use-query.ts";
import { CollisionTable } from "./collisions.tsx";
import { FindingTable } from "./consistency.tsx";
import { PoolCard } from "./pool-card.tsx";
import { RefusalTable } from "./refusals.tsx";

const SHOWN = 6;
const DAY_MS = 86_400_000;

/** How full the pools are, what collides, what was refused and why: in one look. What is wrong comes first. */
export function OverviewView() {
  const pools = useQuery<ListView<PoolView>>("pools");
  const consistency = useQuery<ConsistencyView>("consistency");
  const found = consistency.value.value;
  const isWrong = (collisions.value?.length ?? 0) > 0 || (found?.total ?? 0) > 0;
  const problems = (
    <div class="columns">
      <section aria-labelledby="colliding">
        <h2 id="colliding">Collisions</h2>
        <ProblemNotice problem={collisionList.problem} isStale={collisions.value !== undefined} />
        <CollisionTable collisions={collisions.value?.slice(0, SHOWN)} />
        <More view="collisions" total={collisions.value?.length} what="collision" />
      </section>
      <section aria-labelledby="refused">
        <h2 id="refused">Last refusals</h2>
        <ProblemNotice problem={denialList.problem} isStale={denials.value !== undefined} />
        <RefusalTable denials={denials.value?.slice(0, SHOWN)} isShort />
        <More view="refusals" total={denials.value?.length} what="refusal" />
      </section>
      <section aria-labelledby="inconsistent">
        <h2 id="inconsistent">Consistency</h2>
        <ProblemNotice problem={consistency.problem} isStale={found !== undefined} />
        {found === undefined && <p class="quiet">Asking the pool.</p>}
        {found !== undefined && <FindingTable findings={found.findings.slice(0, SHOWN)} />}
        <More view="consistency" total={found?.total} what="finding" />
      </section>
    </div>
  );
  return (
    <>
      <Figures pools={pools.value.value?.items} findings={found?.total} />
      {isWrong && problems}
      <section aria-labelledby="pools">
        <h2 id="pools">Pools</h2>
        <ProblemNotice problem={pools.problem} isStale={pools.value.value !== undefined} />
        {pools.value.value === undefined && <p class="quiet">Asking the pool.</p>}
        {pools.value.value?.items
          .toSorted((a, b) => fullnessOf(b) - fullnessOf(a))
          .map((pool) => (
            <PoolCard key={pool.name} pool={pool} />
          ))}
        {pools.value.value?.items.length === 0 && (
          <Empty title="There is no pool.">
            <p>VMs and pods get their addresses from a pool. The operator makes the first one after this command:</p>
            <pre>{`kubectl patch networkaddonsconfig cluster --type=merge -p '{"spec":{"kubeMacPool":{}}}'`}</pre>
          </Empty>
        )}
      </section>
      {!isWrong && problems}
    </>
  );
}

interface FiguresProps {
  readonly pools: readonly PoolView[] | undefined;
  readonly findings: number | undefined;
}

function Figures({ pools, findings }: FiguresProps) {
  const sum = (key: "free" | "used"): number | undefined => pools?.reduce((total, pool) => total + pool[key], 0);
  const recent = denials.value?.filter(({ at }) => nowMs.value - Date.parse(at) < DAY_MS);
  const refused = recent?.reduce((total, { count: times }) => total + times, 0);
  return (
    <ul class="figures">
      <Figure view="map" title="free" value={sum("free")} />
      <Figure view="addresses" title="used" value={sum("used")} />
      <Figure view="collisions" title="collisions" value={collisions.value?.length} isBad />
      <Figure view="refusals" title="refused in 24 hours" value={refused} isBad />
      <Figure view="consistency" title="inconsistent" value={findings} isBad />
    </ul>
  );
}

interface FigureProps {
  readonly view: View;
  readonly title: string;
  readonly value: number | undefined;
  /** Whether any is one too many. */
  readonly isBad?: boolean;
}

function Figure({ view, title, value, isBad = false }: FigureProps) {
  const look = !isBad || value === undefined ? "" : value > 0 ? "bad" : "good";
  return (
    <li class={look}>
      <a href={linkTo(view)}>
        <strong>{value === undefined ? "–" : count(value)}</strong> {title}
      </a>
    </li>
  );
}

function More({
  view,
  total = 0,
  what,
}: {
  readonly view: View;
  readonly total?: number | undefined;
  readonly what: string;
}) {
  if (total <= SHOWN) return null;
  return (
    <p>
      <a href={linkTo(view)}>All {counted(total, what)}</a>
    </p>
  );
}
