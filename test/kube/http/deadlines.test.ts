import { beforeEach, expect, test } from "vitest";
import type { Clock } from "../../../src/kube/clock.ts";
import { Deadlines } from "../../../src/kube/http/deadlines.ts";

let nowMs: number;
let timers: { readonly atMs: number; readonly callback: () => void }[];
let over: string[];
let deadlines: Deadlines;

beforeEach(() => {
  nowMs = 0;
  timers = [];
  over = [];
  const clock: Clock = {
    now: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: () => Promise.reject(new Error("not needed")),
    after(ms, callback) {
      const timer = { atMs: nowMs + ms, callback };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
  };
  deadlines = new Deadlines(clock);
});

function advance(toMs: number): void {
  for (;;) {
    const due = timers.filter(({ atMs }) => atMs <= toMs).sort((a, b) => a.atMs - b.atMs)[0];
    if (due === undefined) break;
    timers = timers.filter((timer) => timer !== due);
    nowMs = due.atMs;
    due.callback();
  }
  nowMs = toMs;
}

const add = (limitMs: number, name: string) => deadlines.add(limitMs, () => over.push(`${name} at ${nowMs}`));

test("each deadline is over at its own time, in whatever order they came", () => {
  add(300, "slow");
  add(100, "quick");
  advance(50);
  add(100, "later");
  advance(1_000);
  expect(over).toEqual(["quick at 100", "later at 150", "slow at 300"]);
});

test("one that was cancelled is never over, and one timer is enough for many", () => {
  for (let request = 0; request < 100; request++) {
    const deadline = add(100, `request ${request}`);
    advance(nowMs + 1);
    deadline.cancel();
  }
  expect(timers).toHaveLength(1);
  advance(10_000);
  expect(over).toEqual([]);
  expect(timers).toEqual([]);
});

test("shortening counts where it is earlier, and brings its own end", () => {
  const first = add(100, "first");
  first.shorten(500, () => over.push("too late"));
  const second = add(100, "second");
  second.shorten(20, () => over.push(`shortened at ${nowMs}`));
  const third = add(100, "third");
  third.cancel();
  third.shorten(10, () => over.push("cancelled before"));
  advance(1_000);
  expect(over).toEqual(["shortened at 20", "first at 100"]);
});

test("stopping leaves no timer", () => {
  add(100, "never");
  deadlines.stop();
  expect(timers).toEqual([]);
  add(100, "after");
  advance(1_000);
  expect(over).toEqual(["after at 100"]);
});
