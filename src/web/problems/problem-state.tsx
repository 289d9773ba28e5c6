import { useContext } from "preact/hooks";
import { collisionList, denialList } from "../live-lists.ts";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { SilentReplicas } from "../parts/silent-replicas.tsx";
import { Consistency } from "./use-problems.ts";

/** What of the problems is not known, and why. */
export function UnknownProblems() {
  const consistency = useContext(Consistency);
  const problem = collisionList.problem.value ? collisionList.problem : denialList.problem;
  return (
    <>
      <ProblemNotice problem={problem} isStale={denialList.items.value !== undefined} />
      {problem.value === undefined && consistency !== undefined && (
        <ProblemNotice problem={consistency.problem} isStale={consistency.value.value !== undefined} />
      )}
      <SilentReplicas names={denialList.partial.value} />
    </>
  );
}
