import { describe, expect, test } from "vitest";
import type { ConfigMap } from "../../../src/kube/client/built-in-kinds.ts";
import {
  begin,
  type Effect,
  type Fault,
  type Input,
  initialState,
  type ReflectorState,
  resetBackoff,
  step,
} from "../../../src/kube/informer/reflector.ts";
import { DEFAULT_RULES } from "../../../src/kube/informer/reflector-rules.ts";

const LASTED = DEFAULT_RULES.shortWatchMs;

/** Feeds inputs and gives what the reflector wanted after each. */
function play(inputs: readonly Input<ConfigMap>[], rules = DEFAULT_RULES, random = () => 0): (Effect | undefined)[] {
  let state: ReflectorState<ConfigMap> = initialState();
  return inputs.map((input) => {
    const next = step(state, input, rules, random);
    state = next.state;
    return next.effect;
  });
}

const listed: Input<ConfigMap> = { type: "page", items: [], resourceVersion: "10" };
const failedWatch = (
  kind: Fault["kind"],
  extra: { retryAfterMs?: number; lastedMs?: number } = {},
): Input<ConfigMap> => ({
  type: "watch-failed",
  begun: true,
  fault: { kind, retryAfterMs: extra.retryAfterMs },
  lastedMs: extra.lastedMs ?? 0,
});
const failedList = (kind: Fault["kind"]): Input<ConfigMap> => ({ type: "list-failed", fault: { kind } });

describe("waiting", () => {
  test("grows from 0.8 s to 30 s at most, half of each step being chance", () => {
    const failures = Array.from({ length: 8 }, () => failedList("broken"));
    const delays = (random: () => number) =>
      play(failures, DEFAULT_RULES, random).map((effect) => (effect?.type === "wait" ? effect.delayMs : undefined));
    expect(delays(() => 0)).toEqual([800, 1600, 3200, 6400, 12800, 15000, 15000, 15000]);
    expect(delays(() => 1)).toEqual([1600, 3200, 6400, 12800, 25600, 30000, 30000, 30000]);
  });

  test("begins short again where the wait was ended early", () => {
    let state: ReflectorState<ConfigMap> = initialState();
    const fail = (): Effect | undefined => {
      const next = step(state, failedList("broken"), DEFAULT_RULES, () => 0);
      state = next.state;
      return next.effect;
    };
    for (let failure = 0; failure < 6; failure++) fail();
    state = resetBackoff(state);
    expect(fail()).toEqual({ type: "wait", delayMs: 800 });
  });

  test("lasts as long as the server asks, within a limit", () => {
    const [, first] = play([listed, failedWatch("broken", { retryAfterMs: 7_000 })]);
    expect(first).toEqual({ type: "wait", delayMs: 7_000 });
    const [, second] = play([listed, failedWatch("broken", { retryAfterMs: 3_600_000 })]);
    expect(second).toEqual({ type: "wait", delayMs: DEFAULT_RULES.maxRetryAfterMs });
  });

  test("starts over after a watch that lasted or delivered something", () => {
    const wait = { type: "wait", delayMs: 800 };
    expect(
      play([listed, failedWatch("broken"), { type: "waited" }, failedWatch("broken", { lastedMs: LASTED })])[3],
    ).toEqual(wait);
    const bookmark: Input<ConfigMap> = { type: "bookmark", resourceVersion: "11" };
    expect(play([listed, failedWatch("broken"), { type: "waited" }, bookmark, failedWatch("broken")])[4]).toEqual(wait);
  });
});

describe("listing", () => {
  const ways = (inputs: readonly Input<ConfigMap>[], rules = DEFAULT_RULES) =>
    play(inputs, rules).map((effect) => (effect?.type === "list" ? effect.way : effect?.type));
  const waited: Input<ConfigMap> = { type: "waited" };
  const gone = failedWatch("gone", { lastedMs: LASTED });

  test("begins in one piece, goes on by pages after one that failed, and in one piece after one that was complete", () => {
    expect(begin(initialState(), DEFAULT_RULES, () => 0)).toEqual({ type: "list", way: "whole" });
    expect(ways([failedList("broken"), waited, listed, gone])).toEqual(["wait", "pages", "watch", "whole"]);
  });

  test("goes on in one piece, at once, when a continue token has expired", () => {
    const first: Input<ConfigMap> = { ...listed, next: "token" };
    expect(ways([failedList("broken"), waited, first, failedList("gone")])).toEqual([
      "wait",
      "pages",
      "pages",
      "whole",
    ]);
  });

  test("a kind that is not served is empty", () => {
    const absent = { ...DEFAULT_RULES, absentIsEmpty: true };
    expect(ways([failedList("absent"), waited], absent)).toEqual(["wait", "whole"]);
  });

  test("a kind that is not served is looked for ever less often where the rules say so, until it is served", () => {
    const rules = { ...DEFAULT_RULES, absentIsEmpty: true, absentRetryMs: 100, maxAbsentRetryMs: 350 };
    const inputs = [failedList("absent"), waited];
    const waits = (repeated: readonly Input<ConfigMap>[]) =>
      play(repeated, rules, () => 0.5).flatMap((effect) => (effect?.type === "wait" ? [effect.delayMs] : []));
    expect(waits([...inputs, ...inputs, ...inputs, ...inputs])).toEqual([100, 200, 350, 350]);
    const ended: Input<ConfigMap> = { type: "watch-failed", fault: { kind: "absent" }, begun: false, lastedMs: 0 };
    expect(waits([...inputs, ...inputs, listed, ended])).toEqual([100, 200, 100]);
  });
});

describe("watching", () => {
  test("is asked to last between 5 and 10 minutes", () => {
    expect(play([listed], DEFAULT_RULES, () => 0)[0]).toEqual({
      type: "watch",
      resourceVersion: "10",
      timeoutSeconds: 300,
    });
    expect(play([listed], DEFAULT_RULES, () => 1)[0]).toEqual({
      type: "watch",
      resourceVersion: "10",
      timeoutSeconds: 600,
    });
  });

  test("goes on at once after an orderly end, but a server that keeps ending it at once is waited for", () => {
    const short: Input<ConfigMap> = { type: "watch-ended", lastedMs: 0 };
    const long: Input<ConfigMap> = { type: "watch-ended", lastedMs: LASTED };
    expect(play([listed, long, long, long]).map((effect) => effect?.type)).toEqual([
      "watch",
      "watch",
      "watch",
      "watch",
    ]);
    expect(play([listed, short, short]).map((effect) => effect?.type)).toEqual(["watch", "watch", "wait"]);
  });

  test("a server that calls every fresh list too old is not hammered", () => {
    const gone = failedWatch("gone");
    const effects = play([listed, gone, listed, gone, { type: "waited" }, listed, gone]).map((effect) => effect?.type);
    expect(effects).toEqual(["watch", "list", "watch", "wait", "list", "watch", "wait"]);
  });

  test("a bookmark without a version does not lose ours", () => {
    const [, , effect] = play([
      listed,
      { type: "bookmark", resourceVersion: "" },
      { type: "watch-ended", lastedMs: LASTED },
    ]);
    expect(effect).toMatchObject({ resourceVersion: "10" });
  });

  test("refused with a 4xx: lists, for the request itself may be the trouble", () => {
    const effects = play([listed, failedWatch("refused"), { type: "waited" }]);
    expect(effects.map((effect) => effect?.type)).toEqual(["watch", "wait", "list"]);
  });
});
