import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { count } from "../text.ts";

/** More cards make a page slow, and nobody reads them. */
const STEP = 100;

interface Props<T> {
  /** Undefined until they are known. */
  readonly items: readonly T[] | undefined;
  readonly children: (shown: readonly T[] | undefined) => ComponentChildren;
}

/** The first items of a long list. The reader asks for more. */
export function Portion<T>({ items, children }: Props<T>) {
  const limit = useSignal(STEP);
  const total = items?.length ?? 0;
  const rest = total - limit.value;
  return (
    <>
      {children(items?.slice(0, limit.value))}
      {rest > 0 && (
        <p>
          <button
            type="button"
            onClick={() => {
              limit.value += STEP;
            }}
          >
            Show {count(Math.min(rest, STEP))} more
          </button>{" "}
          <span class="quiet">
            {count(limit.value)} of {count(total)} are shown.
          </span>
        </p>
      )}
    </>
  );
}
