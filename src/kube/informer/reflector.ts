/**
 * The decisions of an informer, without its I/O: `step(state, input)` gives the next state, what to do to the store and
 * what to do next. The loop in `informer.ts` carries them out; tests play any sequence of answers and faults against it.
 *
 *     list       -> swap the store -> watch from there -> (ended: watch again; too old: list; broken: wait, go on)
 *     shards     -> the same, or one list in their place
 *     stream     -> swap the store when its initial events are complete -> the same stream goes on as a watch
 *
 * A stream is a watch with `sendInitialEvents` (WatchList). A server that refuses it or does not understand it is listed.
 * Imports its rules, the backoff and the order of versions only.
 */
import type { KubeObject } from "../client/resource.ts";
import { backoffMs } from "../queue/backoff.ts";
import type { ReflectorRules } from "./reflector-rules.ts";
import { isOlder } from "./resource-version.ts";

export interface ReflectorState<T> {
  /** What came so far of a list or of initial events that are not complete; a later object replaces an earlier one. */
  readonly pages: readonly (readonly T[])[];
  /** Where to watch from; undefined: a list is needed first. */
  readonly resourceVersion: string | undefined;
  readonly synced: boolean;
  /** Failures in a row; a watch that delivers something or lasts ends the row, a mere list does not. */
  readonly failures: number;
  /** After a continue token expired the next list is asked for in one piece, whatever the rules. */
  readonly paged: boolean;
  /** The last list was refused or broke: what is smaller may get through. */
  readonly listBroke: boolean;
  /** False after a list in shards failed, until a list is complete. */
  readonly sharded: boolean;
  /** False once the server has shown that it has no WatchList. */
  readonly streams: boolean;
}

export type Input<T> =
  | { readonly type: "page"; readonly items: readonly T[]; readonly resourceVersion: string; readonly next?: string }
  | { readonly type: "list-failed"; readonly fault: Fault }
  /** Objects of a stream before its initial events are complete, and objects that went away meanwhile. */
  | { readonly type: "initial-objects"; readonly objects: readonly T[] }
  | { readonly type: "initial-removal"; readonly object: T }
  | { readonly type: "initial-end"; readonly resourceVersion: string }
  | { readonly type: "event"; readonly event: "put" | "remove"; readonly object: T }
  | { readonly type: "bookmark"; readonly resourceVersion: string }
  /** The server ended the watch in order. */
  | { readonly type: "watch-ended"; readonly lastedMs: number }
  | { readonly type: "watch-failed"; readonly fault: Fault; readonly lastedMs: number }
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
export type StoreWrite<T> =
  | { readonly type: "replace"; readonly objects: readonly T[] }
  | { readonly type: "put" | "remove"; readonly object: T };

export type Effect =
  | { readonly type: "list"; readonly way: ListWay; readonly next?: string }
  | { readonly type: "watch"; readonly resourceVersion: string; readonly timeoutSeconds: number }
  | { readonly type: "stream"; readonly timeoutSeconds: number }
  | { readonly type: "wait"; readonly delayMs: number };

/** In shards side by side, in one piece, or page by page. */
export type ListWay = "shards" | "whole" | "pages";

export interface Step<T> {
  readonly state: ReflectorState<T>;
  readonly writes: readonly StoreWrite<T>[];
  /** Undefined: go on with what is under way (the watch). */
  readonly effect?: Effect;
}

export function initialState<T>(): ReflectorState<T> {
  const unknown = { pages: [], resourceVersion: undefined, synced: false, failures: 0 };
  return { ...unknown, paged: true, listBroke: false, sharded: true, streams: true };
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
    case "initial-objects":
      return { state: { ...state, pages: [...state.pages, input.objects] }, writes: [] };
    case "initial-removal":
      return { state: { ...state, pages: state.pages.map((page) => without(page, input.object)) }, writes: [] };
    case "initial-end":
      return complete(state, state.pages, input.resourceVersion);
    case "event": {
      const { metadata } = input.object;
      const resourceVersion = isOlder(metadata, state)
        ? state.resourceVersion
        : (metadata.resourceVersion ?? state.resourceVersion);
      return {
        state: { ...state, resourceVersion, failures: 0 },
        writes: [{ type: input.event, object: input.object }],
      };
    }
    case "bookmark": {
      const resourceVersion = input.resourceVersion || state.resourceVersion;
      return { state: { ...state, resourceVersion, failures: 0 }, writes: [] };
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
  const listed = complete(state, pages, input.resourceVersion);
  return { ...listed, effect: next(listed.state, rules, random) };
}

function complete<T>(
  state: ReflectorState<T>,
  pages: readonly (readonly T[])[],
  resourceVersion: string,
): Pick<Step<T>, "state" | "writes"> {
  return {
    state: { ...state, pages: [], resourceVersion, synced: true, paged: true, listBroke: false, sharded: true },
    writes: [{ type: "replace", objects: pages.flat() }],
  };
}

function without<T extends KubeObject>(page: readonly T[], { metadata: { name, namespace } }: T): readonly T[] {
  return page.filter((object) => object.metadata.name !== name || object.metadata.namespace !== namespace);
}

function listFailed<T>(state: ReflectorState<T>, fault: Fault, rules: ReflectorRules, random: () => number): Step<T> {
  const failures = state.failures + 1;
  if (fault.kind === "absent" && rules.absentIsEmpty) {
    return absent(state, rules, random);
  }
  if (listWay(state, rules) === "shards") {
    const again = { ...state, failures, sharded: false };
    const atOnce = fault.kind === "gone" || fault.kind === "refused";
    return {
      state: again,
      writes: [],
      effect: atOnce ? next(again, rules, random) : wait(fault, failures, rules, random),
    };
  }
  const again = { ...state, pages: [], resourceVersion: undefined, failures, listBroke: true };
  if (fault.kind === "gone" && state.pages.length > 0) {
    const whole = { ...again, paged: false };
    return { state: whole, writes: [], effect: next(whole, rules, random) };
  }
  return { state: again, writes: [], effect: wait(fault, failures, rules, random) };
}

/**
 * A stream that did not get to the end of its initial events. Refused, or ended in order without that end: the server has
 * no WatchList. Broken: perhaps only a list, page by page, gets through.
 */
function streamFailed<T>(state: ReflectorState<T>, fault: Fault, rules: ReflectorRules, random: () => number): Step<T> {
  if (fault.kind === "absent") {
    return listFailed(state, fault, rules, random);
  }
  const failures = state.failures + 1;
  const streams = fault.kind !== "refused" && failures < rules.maxStreamFailures;
  const again = { ...state, pages: [], failures: fault.kind === "refused" ? state.failures : failures, streams };
  const effect = fault.kind === "refused" ? next(again, rules, random) : wait(fault, failures, rules, random);
  return { state: again, writes: [], effect };
}

/** Servers end watches all the time; only one that keeps ending at once is in trouble. */
function watchEnded<T>(
  state: ReflectorState<T>,
  lastedMs: number,
  rules: ReflectorRules,
  random: () => number,
): Step<T> {
  if (state.resourceVersion === undefined) {
    return streamFailed(state, { kind: "refused" }, rules, random);
  }
  if (lastedMs < rules.shortWatchMs && state.failures > 0) {
    return watchFailed(state, { fault: { kind: "broken" }, lastedMs }, rules, random);
  }
  const again = { ...state, failures: lastedMs < rules.shortWatchMs ? 1 : 0 };
  return { state: again, writes: [], effect: next(again, rules, random) };
}

function watchFailed<T>(
  state: ReflectorState<T>,
  { fault, lastedMs }: { readonly fault: Fault; readonly lastedMs: number },
  rules: ReflectorRules,
  random: () => number,
): Step<T> {
  if (state.resourceVersion === undefined) {
    return streamFailed(state, fault, rules, random);
  }
  if (fault.kind === "absent" && rules.absentIsEmpty) {
    return absent(state, rules, random);
  }
  const failures = (lastedMs < rules.shortWatchMs ? state.failures : 0) + 1;
  const relist = fault.kind !== "broken" || failures >= rules.maxWatchFailures;
  const again = { ...state, failures, resourceVersion: relist ? undefined : state.resourceVersion };
  const effect =
    fault.kind === "gone" && failures === 1 ? next(again, rules, random) : wait(fault, failures, rules, random);
  return { state: again, writes: [], effect };
}

/** The API does not serve the resource: whatever we knew is gone, and it may come any time. */
function absent<T>(state: ReflectorState<T>, rules: ReflectorRules, random: () => number): Step<T> {
  return {
    state: { ...state, pages: [], resourceVersion: undefined, synced: true, failures: 0, paged: true },
    writes: [{ type: "replace", objects: [] }],
    effect: { type: "wait", delayMs: rules.absentRetryMs * (0.5 + random()) },
  };
}

function next<T>(state: ReflectorState<T>, rules: ReflectorRules, random: () => number): Effect {
  const { resourceVersion } = state;
  const streaming = rules.watchList && state.streams;
  if (resourceVersion === undefined && !streaming) {
    return { type: "list", way: listWay(state, rules) };
  }
  const { min, max } = rules.watchTimeoutSeconds;
  const timeoutSeconds = Math.round(min + random() * (max - min));
  return resourceVersion === undefined
    ? { type: "stream", timeoutSeconds }
    : { type: "watch", resourceVersion, timeoutSeconds };
}

function listWay<T>({ paged, listBroke, sharded }: ReflectorState<T>, rules: ReflectorRules): ListWay {
  if (paged && (listBroke || !rules.wholeList)) {
    return "pages";
  }
  return paged && sharded && rules.sharded ? "shards" : "whole";
}

function wait(fault: Fault, failures: number, rules: ReflectorRules, random: () => number): Effect {
  const asked = Math.min(fault.retryAfterMs ?? 0, rules.maxRetryAfterMs);
  return { type: "wait", delayMs: Math.max(asked, backoffMs(rules.backoff, failures, random)) };
}
