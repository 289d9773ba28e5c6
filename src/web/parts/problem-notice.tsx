import type { ReadonlySignal } from "@preact/signals";
import { FORBIDDEN, type Problem } from "../client.ts";
import { namespace } from "../session.ts";

interface Props {
  readonly problem: ReadonlySignal<Problem | undefined>;
  /** Whether something older is still shown. */
  readonly isStale?: boolean;
}

/** Why there is no answer, and what the reader can do about it. */
export function ProblemNotice({ problem, isStale = false }: Props) {
  const { value } = problem;
  // That rights end at a namespace is said once, for all of the page.
  if (value === undefined || (value.status === FORBIDDEN && namespace.value === undefined)) return null;
  // Somebody's rights are as they are meant to be: nothing is wrong.
  return (
    <div role="alert" class={value.status === FORBIDDEN ? "notice" : "notice bad"}>
      <p>
        {isStale && "This is not up to date. "}
        {value.message}
        {value.didYouMean !== undefined && ` Did you mean ${value.didYouMean}?`}
      </p>
    </div>
  );
}
