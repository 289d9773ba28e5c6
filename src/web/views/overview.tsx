import { useContext } from "preact/hooks";
import { fullnessOf } from "../../api/forecast-text.ts";
import type { ListView, PoolView } from "../../mac-pool/inspection/rest/views.ts";
import { FORBIDDEN } from "../client.ts";
import { collisions, denials } from "../live-lists.ts";
import { Empty } from "../parts/empty.tsx";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { ScopeNotice } from "../parts/scope-notice.tsx";
import { ProblemCards } from "../problems/problem-cards.tsx";
import { isRecent } from "../problems/problem-list.ts";
import { UnknownProblems } from "../problems/problem-state.tsx";
import { Consistency, useProblems } from "../problems/use-problems.ts";
import { nowMs } from "../refresh-tick.ts";
import { linkTo, type View } from "../route.ts";
import { count, counted } from "../text.ts";
import { useQuery } from "../use-query.ts";
import { PoolCard } from "./pool-card.tsx";
import { NoProblem } from "./problems.tsx";

const SHOWN = 4;

/** What is wrong, and how full the pools are, in one look. */
export function OverviewView() {
  const pools = useQuery<ListView<PoolView>>("pools");
  if (pools.problem.value?.status === FORBIDDEN) {
    return (
      <>
        <ScopeNotice />
        <WorstProblems />
      </>
    );
  }
  return (
    <>
      <Figures pools={pools.value.value?.items} />
      <WorstProblems />
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
    </>
  );
}

function WorstProblems() {
  const problems = useProblems();
  return (
    <section aria-labelledby="problems">
      <h2 id="problems">Problems</h2>
      <UnknownProblems />
      {problems === undefined && <p class="quiet">Asking the pool.</p>}
      {problems?.length === 0 && <NoProblem />}
      {problems !== undefined && <ProblemCards problems={problems.slice(0, SHOWN)} />}
      {problems !== undefined && problems.length > SHOWN && (
        <p>
          <a href={linkTo("problems")}>All {counted(problems.length, "problem")}</a>
        </p>
      )}
    </section>
  );
}

function Figures({ pools }: { readonly pools: readonly PoolView[] | undefined }) {
  const findings = useContext(Consistency)?.value.value?.total;
  const sum = (key: "free" | "used"): number | undefined => pools?.reduce((total, pool) => total + pool[key], 0);
  const refused = denials.value
    ?.filter((denial) => isRecent(denial, nowMs.value))
    .reduce((total, { count: times }) => total + times, 0);
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
