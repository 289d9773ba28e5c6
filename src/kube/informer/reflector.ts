/**
 * The decisions of an informer, without I/O: `step(state, input)` returns the next state, the writes to the store and the
 * next action. The loop in `informer.ts` carries them out; tests play any sequence of answers and faults against it.
 *
 *     list -> swap the store -> watch from there -> (ended: watch again; too old: list; broken: wait, go on)
 *
 * Imports its rules, the backoff and the order of versions only.
 */
import type { KubeObject } from "../client/resource.ts";
import { isOlder } from "../client/resource-version.ts";
import { backoffMs } from "./backoff.ts";
import type { ReflectorRules } from "./reflector-rules.ts";

export interface ReflectorState<T> {
  /** The pages of a list that is not complete yet. */
  readonly pages: readonly (readonly T[])[];
  /** Where to watch from; undefined: a list is needed first. */
  readonly resourceVersion: string | undefined;
  /** What the last list and the watches after it have reached; an older list is from before that. */
  readonly reached: string | undefined;
  readonly synced: boolean;
  /** Failures in a row. A watch that delivers something or lasts ends the row; a list does not. */
  readonly failures: number;
  /** How often in a row the API did not serve the resource. */
  readonly absences: number;
  /** False after a continue token expired: the next list is in one piece, whatever the rules say. */
  readonly paged: boolean;
  /** The last list was refused or broke: pages may get through. */
  readonly listBroke: boolean;
}

export type Input<T> =
  | { readonly type: "page"; readonly items: readonly T[]; readonly resourceVersion: string; readonly next?: string }
  | { readonly type: "list-failed"; readonly fault: Fault }
  | { readonly type: "event"; readonly event: "create" | "put" | "forget" | "remove"; readonly object: T }
  | { readonly type: "bookmark"; readonly resourceVersion: string }
  /** The server ended the watch in order. */
  | { readonly type: "watch-ended"; readonly lastedMs: number }
  /** `begun`: the server had answered. */
  | { readonly type: "watch-failed"; readonly fault: Fault; readonly begun: boolean; readonly lastedMs: number }
  | { readonly type: "waited" };

export interface Fault {
  /**
   * gone: 410, the version or token is too old. absent: 404, the API does not serve this resource (yet). refused: any
   * other 4xx but 401, 403 and 429. broken: everything else.
   */
  readonly kind: "gone" | "absent" | "refused" | "broken";
  readonly retryAfterMs?: number | undefined;
}

/** What to do to the store, in order. */
type StoreWrite<T> =
  | { readonly type: "replace"; readonly objects: readonly T[] }
  | { readonly type: "create" | "put" | "forget" | "remove"; readonly object: T };

export type Effect =
  | { readonly type: "list"; readonly way: ListWay; readonly next?: string }
  | { readonly type: "watch"; readonly resourceVersion: string; readonly timeoutSeconds: number }
  | { readonly type: "wait"; readonly delayMs: number }
  /** The list is older than what was seen: etcd was restored, and its versions are given a second time. */
  | { readonly type: "restored" };

/** In one piece, or page by page. */
export type ListWay = "whole" | "pages";

export interface Step<T> {
  readonly state: ReflectorState<T>;
  readonly writes: readonly StoreWrite<T>[];
  /** Undefined: go on with the watch. */
  readonly effect?: Effect;
}

export function initialState<T>(): ReflectorState<T> {
  return {
    pages: [],
    resourceVersion: undefined,
    reached: undefined,
    synced: false,
    failures: 0,
    absences: 0,
    paged: true,
    listBroke: false,
  };
}

/** What to do first. */
export function begin<T>(state: ReflectorState<T>, rules: ReflectorRules, random: () => number): Effect {
  return next({ ...state, pages: [], resourceVersion: undefined }, rules, random);
}

export function step<T extends KubeObject>(
  state: ReflectorState<T>,
  input: Input<T>,
  rules: ReflectorRules,
  random: () => number,
): Step<T> {
  switch (input.type) {
    case "page":
      return page(state, input, rules, random);
    case "list-failed":
      return listFailed(state, input.fault, rules, random);
    case "event": {
      const { metadata } = input.object;
      const resourceVersion = isOlder(metadata, state)
        ? state.resourceVersion
        : (metadata.resourceVersion ?? state.resourceVersion);
      return {
        state: { ...state, resourceVersion, reached: resourceVersion, failures: 0 },
        writes: [{ type: input.event, object: input.object }],
      };
    }
    case "bookmark": {
      const resourceVersion = input.resourceVersion || state.resourceVersion;
      return { state: { ...state, resourceVersion, reached: resourceVersion, failures: 0 }, writes: [] };
    }
    case "watch-ended":
      return watchEnded(state, input.lastedMs, rules, random);
    case "watch-failed":
      return watchFailed(state, input, rules, random);
    case "waited":
      return { state, writes: [], effect: next(state, rules, random) };
  }
}

function page<T>(
  state: ReflectorState<T>,
  input: Extract<Input<T>, { type: "page" }>,
  rules: ReflectorRules,
  random: () => number,
): Step<T> {
  const pages = [...state.pages, input.items];
  if (input.next) {
    return {
      state: { ...state, pages },
      writes: [],
      effect: { type: "list", way: "pages", next: input.next },
    };
  }
  if (isOlder(input, { resourceVersion: state.reached })) {
    return { state, writes: [], effect: { type: "restored" } };
  }
  const { resourceVersion } = input;
  const listed = {
    ...state,
    pages: [],
    resourceVersion,
    reached: resourceVersion,
    synced: true,
    absences: 0,
    paged: true,
    listBroke: false,
  };
  return {
    state: listed,
    writes: [{ type: "replace", objects: pages.flat() }],
    effect: next(listed, rules, random),
  };
}

function listFailed<T>(state: ReflectorState<T>, fault: Fault, rules: ReflectorRules, random: () => number): Step<T> {
  const failures = state.failures + 1;
  if (fault.kind === "absent" && rules.absentIsEmpty) {
    return absent(state, rules, random);
  }
  const again = { ...state, pages: [], resourceVersion: undefined, failures, listBroke: true };
  if (fault.kind === "gone" && state.pages.length > 0) {
    const whole = { ...again, paged: false };
    return { state: whole, writes: [], effect: next(whole, rules, random) };
  }
  return { state: again, writes: [], effect: wait(fault, failures, rules, random) };
}

/** Servers end watches all the time. Only a watch that keeps ending at once is a failure. */
function watchEnded<T>(
  state: ReflectorState<T>,
  lastedMs: number,
  rules: ReflectorRules,
  random: () => number,
): Step<T> {
  if (lastedMs < rules.shortWatchMs && state.failures > 0) {
    return watchFailed(state, { fault: { kind: "broken" }, begun: true, lastedMs }, rules, random);
  }
  const again = { ...state, failures: lastedMs < rules.shortWatchMs ? 1 : 0 };
  return { state: again, writes: [], effect: next(again, rules, random) };
}

function watchFailed<T>(
  state: ReflectorState<T>,
  { fault, begun, lastedMs }: Pick<Extract<Input<T>, { type: "watch-failed" }>, "fault" | "begun" | "lastedMs">,
  rules: ReflectorRules,
  random: () => number,
): Step<T> {
  if (fault.kind === "absent" && rules.absentIsEmpty) {
    return absent(state, rules, random);
  }
  const failures = (lastedMs < rules.shortWatchMs ? state.failures : 0) + 1;
  // An API server that does not even begin the watch may be down, and its etcd may be restored meanwhile.
  const relist = fault.kind !== "broken" || !begun || failures >= rules.maxWatchFailures;
  const again = { ...state, failures, resourceVersion: relist ? undefined : state.resourceVersion };
  const effect =
    fault.kind === "gone" && failures === 1 ? next(again, rules, random) : wait(fault, failures, rules, random);
  return { state: again, writes: [], effect };
}

/** The API does not serve the resource: the store is emptied, and it is listed again soon. */
function absent<T>(state: ReflectorState<T>, rules: ReflectorRules, random: () => number): Step<T> {
  const { absentRetryMs, maxAbsentRetryMs } = rules;
  const retryMs = Math.min(absentRetryMs * 2 ** state.absences, Math.max(absentRetryMs, maxAbsentRetryMs));
  const absences = state.absences + 1;
  return {
    state: { ...state, pages: [], resourceVersion: undefined, synced: true, failures: 0, absences, paged: true },
    writes: [{ type: "replace", objects: [] }],
    effect: { type: "wait", delayMs: retryMs * (0.5 + random()) },
  };
}

/** What was in the way may be over: the waits begin short again. */
export function resetBackoff<T>(state: ReflectorState<T>): ReflectorState<T> {
  return { ...state, absences: 0, failures: 0 };
}

function next<T>(state: ReflectorState<T>, rules: ReflectorRules, random: () => number): Effect {
  const { resourceVersion, paged, listBroke } = state;
  if (resourceVersion === undefined) {
    return { type: "list", way: paged && (listBroke || !rules.wholeList) ? "pages" : "whole" };
  }
  const { min, max } = rules.watchTimeoutSeconds;
  return { type: "watch", resourceVersion, timeoutSeconds: Math.round(min + random() * (max - min)) };
}

function wait(fault: Fault, failures: number, rules: ReflectorRules, random: () => number): Effect {
  const asked = Math.min(fault.retryAfterMs ?? 0, rules.maxRetryAfterMs);
  return { type: "wait", delayMs: Math.max(asked, backoffMs(rules.backoff, failures, random)) };
}
