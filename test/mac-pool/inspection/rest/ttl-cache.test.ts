import { describe, expect, it } from "vitest";
import { AnswerCache, TtlCache } from "../../../../src/mac-pool/inspection/rest/ttl-cache.ts";
import { ManualClock } from "../../../kube/support/manual-clock.ts";

describe("a cache of values", () => {
  it("forgets each when its time is over, read or not, and says so", async () => {
    const clock = new ManualClock();
    const dropped: string[] = [];
    const cache = new TtlCache<{ name: string }>(clock, {
      ttlMs: 1_000,
      max: 8,
      onDrop: ({ name }) => dropped.push(name),
    });
    cache.add("a", { name: "one" });
    await clock.advance(600);
    cache.add("b", { name: "two" });
    expect(cache.find("a")).toEqual({ name: "one" });
    await clock.advance(400);
    expect([cache.find("a"), cache.find("b")]).toEqual([undefined, { name: "two" }]);
    await clock.advance(600);
    expect(dropped).toEqual(["one", "two"]);
  });

  it("has no more than its count and its size allow", () => {
    const clock = new ManualClock();
    const cache = new TtlCache<object>(clock, { ttlMs: 1_000, max: 3, maxSize: 10 });
    const known = (): string[] => ["a", "b", "c", "d", "e"].filter((key) => cache.find(key) !== undefined);
    for (const key of ["a", "b", "c", "d"]) cache.add(key, {});
    expect(known()).toEqual(["b", "c", "d"]);
    cache.add("e", {}, 9);
    expect(known()).toEqual(["d", "e"]);
    cache.add("f", {}, 11);
    expect([cache.find("f"), known()]).toEqual([undefined, ["d", "e"]]);
    expect(clock.pending).toBe(2);
  });
});

describe("a cache of answers", () => {
  it("asks once for all who ask meanwhile, and again when the answer's time is over", async () => {
    const clock = new ManualClock();
    const ends: ((answer: number) => void)[] = [];
    const cache = new AnswerCache<number>(clock, { ttlMs: 1_000, max: 8 });
    const ask = () => cache.get("key", () => new Promise<number>((resolve) => ends.push(resolve)));
    const first = ask();
    await clock.advance(5_000);
    expect(ask()).toBe(first);
    ends[0]?.(1);
    await clock.advance(0);
    await clock.advance(999);
    expect(await ask()).toBe(1);
    await clock.advance(1);
    void ask();
    expect(ends).toHaveLength(2);
  });

  it("keeps answers up to the size of all of them", async () => {
    let asked = 0;
    const options = { ttlMs: 1_000, max: 8, maxSize: 10 };
    const cache = new AnswerCache<string>(new ManualClock(), options, (answer) => answer.length);
    const make = async (): Promise<string> => {
      asked += 1;
      return "12345";
    };
    for (const key of ["a", "a", "b", "a", "a"]) await cache.get(key, make);
    expect(asked).toBe(3);
  });
});
