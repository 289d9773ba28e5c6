import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ClaimView, ListView } from "../mac-pool/inspection/rest/views.ts";
import { type Claims, followedBy, withFirstPage } from "./claim-pages.ts";
import { addressOf, ask, type Parameters, type Problem } from "./client.ts";
import { refreshTick } from "./refresh-tick.ts";
import { token } from "./session.ts";
import { problemFrom } from "./use-query.ts";

const FIRST_PAGE = 200;
const PAGE = 1_000;
/** So many rows follow the cluster. The others are as they were when they were read. */
const FOLLOWED = 1_000;
const GONE = 410;

/** Claims that match, read as far as the reader scrolls. */
export function useClaims(filter: Parameters): {
  readonly claims: Claims | undefined;
  readonly problem: ReturnType<typeof useSignal<Problem | undefined>>;
  readonly readOn: () => void;
} {
  const claims = useSignal<Claims | undefined>(undefined);
  const problem = useSignal<Problem | undefined>(undefined);
  /** The URL whose claims these are: those of the one before stay until the next ones are there. */
  const answered = useSignal("");
  const isReading = useSignal(false);
  const url = addressOf("claims", filter);
  const tick = refreshTick.value;
  useEffect(() => {
    const isNew = answered.value !== url;
    const limit = isNew ? FIRST_PAGE : Math.min(Math.max(claims.value?.rows.length ?? 0, FIRST_PAGE), FOLLOWED);
    const stop = new AbortController();
    ask<ListView<ClaimView>>("claims", { ...filter, limit }, stop.signal).then(
      (page) => {
        if (stop.signal.aborted) return;
        claims.value = isNew ? followedBy([], page) : withFirstPage(claims.value, page);
        answered.value = url;
        problem.value = undefined;
      },
      (error: unknown) => {
        if (!stop.signal.aborted) problem.value = problemFrom(error);
      },
    );
    return () => stop.abort();
  }, [url, tick, token.value]);
  const readOn = async (): Promise<void> => {
    const before = claims.value;
    if (isReading.value || before?.next === undefined) return;
    isReading.value = true;
    try {
      const page: ListView<ClaimView> = await ask("claims", { ...filter, limit: PAGE, continue: before.next });
      const now = claims.value;
      if (answered.value === url && now?.next === before.next) claims.value = followedBy(now.rows, page);
    } catch (error) {
      const failure = problemFrom(error);
      // The token is too old: the next refresh reads the first page, and with it a new one.
      if (failure.status === GONE) claims.value = undefined;
      else problem.value = failure;
    }
    isReading.value = false;
  };
  return { claims: claims.value, problem, readOn: () => void readOn() };
}
