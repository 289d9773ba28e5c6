import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { ConsistencyView } from "../../mac-pool/inspection/rest/views.ts";
import { collisions, denials } from "../live-lists.ts";
import { nowMs } from "../refresh-tick.ts";
import type { QueryResult } from "../use-query.ts";
import { type Problem, problemsOf } from "./problem-list.ts";

/** Whether claims and objects agree: asked once for the tab and the view that show it. */
export const Consistency = createContext<QueryResult<ConsistencyView> | undefined>(undefined);

/** What is wrong as far as it is known, the worst first; undefined while nothing is found and not all is known. */
export function useProblems(): readonly Problem[] | undefined {
  const consistency = useContext(Consistency)?.value.value;
  const [colliding, refused] = [collisions.value, denials.value];
  const problems = problemsOf(
    { collisions: colliding ?? [], denials: refused ?? [], findings: consistency?.findings ?? [] },
    nowMs.value,
  );
  const isWhole = colliding !== undefined && refused !== undefined && consistency !== undefined;
  return problems.length === 0 && !isWhole ? undefined : problems;
}
