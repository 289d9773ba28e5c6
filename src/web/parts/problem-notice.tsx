import type { ReadonlySignal } from "@preact/signals";
import type { Problem } from "../client.ts";
import { namespace } from "../session.ts";

const FORBIDDEN = 403;

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
  return (
    <div role="alert" class="notice bad">
      <p>
        {isStale && "This is not up to date. "}
        {value.message}
        {value.didYouMean !== undefined && ` Did you mean ${value.didYouMean}?`}
      </p>
    </div>
  );
}
