import { beforeEach, describe, expect, test } from "vitest";
import { WorkQueue } from "../../../src/kube/informer/work-queue.ts";
import { ManualClock, settle } from "../support/manual-clock.ts";

let clock: ManualClock;
let queue: WorkQueue;

beforeEach(() => {
  clock = new ManualClock();
  queue = new WorkQueue({ clock, random: () => 1, backoff: { baseMs: 10, maxMs: 100 } });
});

describe("keys", () => {
  test("come in the order they were added, once however often that was", async () => {
    for (const key of ["a", "b", "a", "c", "a"]) {
      queue.add(key);
    }
    expect(queue.length).toBe(3);
    expect([await queue.next(), await queue.next(), await queue.next()]).toEqual(["a", "b", "c"]);
  });

  test("added while they are worked on come again after done, once", async () => {
    queue.add("a");
    await queue.next();
    queue.add("a");
    queue.add("a");
    expect(queue.length).toBe(0);
    queue.done("a");
    expect(queue.length).toBe(1);
    expect(await queue.next()).toBe("a");
    queue.done("a");
    expect(queue.length).toBe(0);
  });

  test("wake one waiting worker each", async () => {
    const taken: (string | undefined)[] = [];
    const workers = [1, 2, 3].map(async () => taken.push(await queue.next()));
    queue.add("a");
    queue.add("b");
    await settle();
    expect(taken.sort()).toEqual(["a", "b"]);
    queue.shutdown();
    await Promise.all(workers);
    expect(taken).toContain(undefined);
  });
});

describe("later", () => {
  test("a key comes after its delay, the earliest of several", async () => {
    queue.addAfter("a", 50);
    queue.addAfter("a", 20);
    queue.addAfter("a", 80);
    await clock.advance(19);
    expect(queue.length).toBe(0);
    await clock.advance(1);
    expect(queue.length).toBe(1);
    await clock.advance(100);
    expect(queue.length).toBe(1);
    expect(clock.pending).toBe(0);
  });

  test("no delay means now", () => {
    queue.addAfter("a", 0);
    expect(queue.length).toBe(1);
  });

  test("retries wait twice as long each time up to the limit, until the key is forgotten", async () => {
    const waits: number[] = [];
    for (let failure = 0; failure < 6; failure++) {
      queue.retry("a");
      let waited = 0;
      while (queue.length === 0) {
        await clock.advance(1);
        waited++;
      }
      waits.push(waited);
      await queue.next();
      queue.done("a");
    }
    expect(waits).toEqual([10, 20, 40, 80, 100, 100]);
    expect(queue.failures("a")).toBe(6);
    queue.forget("a");
    queue.retry("a");
    await clock.advance(10);
    expect(queue.length).toBe(1);
  });
});

describe("shutdown", () => {
  test("drops what waits, sets no timers and takes nothing more", async () => {
    queue.add("a");
    queue.addAfter("b", 10);
    queue.shutdown();
    queue.add("c");
    queue.addAfter("d", 10);
    expect(await queue.next()).toBeUndefined();
    expect(clock.pending).toBe(0);
  });

  test("with drain gives out what is ready first", async () => {
    queue.add("a");
    queue.shutdown({ drain: true });
    expect(await queue.next()).toBe("a");
    expect(await queue.next()).toBeUndefined();
  });

  test("a waiting worker can leave by its signal", async () => {
    const stop = new AbortController();
    const waiting = queue.next(stop.signal);
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    queue.add("a");
    expect(await queue.next()).toBe("a");
  });
});
