import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { WAYS, type Way, type WaysView } from "../../api/way.ts";
import { ask, type Problem } from "../client.ts";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { tellsWays } from "../session.ts";
import { problemFrom } from "../use-query.ts";

interface Props {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Each interface from its request to its frames, up to the first thing that is wrong. */
export function Ways({ kind, namespace, name }: Props) {
  return (
    <>
      <h2>From request to frame</h2>
      {tellsWays.value ? (
        <KnownWays path={[WAYS, kind, namespace, name].map(encodeURIComponent).join("/")} />
      ) : (
        <p class="quiet">
          What of the network works is told to you with your own rights: open this page with{" "}
          <code>kubectl macpool ui</code>, or run{" "}
          <code>
            kubectl macpool explain {kind.toLowerCase()}/{namespace}/{name}
          </code>
          .
        </p>
      )}
    </>
  );
}

/** Asked once and when the reader asks again: it takes ten questions to the API server, not one to the pool. */
function KnownWays({ path }: { readonly path: string }) {
  const ways = useSignal<readonly Way[] | undefined>(undefined);
  const problem = useSignal<Problem | undefined>(undefined);
  const times = useSignal(1);
  useEffect(() => {
    const stop = new AbortController();
    ways.value = undefined;
    problem.value = undefined;
    ask<WaysView>(path, {}, stop.signal).then(
      ({ way }) => {
        if (!stop.signal.aborted) ways.value = way;
      },
      (error: unknown) => {
        if (!stop.signal.aborted) problem.value = problemFrom(error);
      },
    );
    return () => stop.abort();
  }, [path, times.value]);
  const isAsking = ways.value === undefined && problem.value === undefined;
  return (
    <>
      <ProblemNotice problem={problem} />
      {ways.value?.map((way) => (
        <section key={way.interface}>
          <h3>{way.interface}</h3>
          <ol class="history">
            {way.steps.map(({ step, state, text, remedy }) => (
              <li key={step} class={state}>
                <strong>{step}</strong> <span class={state === "wrong" ? "tag bad" : "tag"}>{state}</span>
                <p>{text}</p>
                {remedy !== undefined && <p>What to do: {remedy}</p>}
              </li>
            ))}
          </ol>
        </section>
      ))}
      {ways.value?.length === 0 && <p class="quiet">It has no interface whose way could be told.</p>}
      <p>
        <button
          type="button"
          disabled={isAsking}
          onClick={() => {
            times.value += 1;
          }}
        >
          {isAsking ? "Asking" : "Ask again"}
        </button>
      </p>
    </>
  );
}
