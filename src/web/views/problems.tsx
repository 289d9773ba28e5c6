import { useContext } from "preact/hooks";
import { Empty } from "../parts/empty.tsx";
import { Portion } from "../parts/portion.tsx";
import { ProblemCards } from "../problems/problem-cards.tsx";
import { UnknownProblems } from "../problems/problem-state.tsx";
import { Consistency, useProblems } from "../problems/use-problems.ts";
import { linkTo } from "../route.ts";
import { namespace } from "../session.ts";
import { CutFindings } from "./consistency.tsx";

/** Everything that is wrong, the worst first. */
export function ProblemsView() {
  const problems = useProblems();
  const state = useContext(Consistency)?.value.value;
  return (
    <>
      <p class="lead">
        What is wrong now, the worst first. Refusals for one reason are one entry, of the last 24 hours. In full:{" "}
        <a href={linkTo("collisions")}>collisions</a>, <a href={linkTo("refusals")}>refusals</a>,{" "}
        <a href={linkTo("consistency")}>consistency and state of the pool</a>.
      </p>
      <UnknownProblems />
      {problems?.length === 0 && <NoProblem />}
      <Portion items={problems}>
        {(first) => (first === undefined ? <p class="quiet">Asking the pool.</p> : <ProblemCards problems={first} />)}
      </Portion>
      {state !== undefined && <CutFindings {...state} />}
    </>
  );
}

export function NoProblem() {
  return (
    <Empty title="No problem is known.">
      <p>
        {namespace.value === undefined ? "No pool is full" : `In namespace ${namespace.value}`}, nothing collides,
        nothing was refused in the last 24 hours, claims and objects agree, and networks fit the nodes, as far as the
        replicas remember.
      </p>
    </Empty>
  );
}
