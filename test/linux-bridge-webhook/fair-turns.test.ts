import { describe, expect, it } from "vitest";
import { FairTurns } from "../../src/linux-bridge-webhook/fair-turns.ts";

const LIMITS = { inAll: 4, each: 2 };

/** Calls that run until they are told to end. */
class Calls {
  readonly started: string[] = [];
  readonly #ends: (() => void)[] = [];

  readonly call = (name: string) => (): Promise<string> => {
    this.started.push(name);
    return new Promise((resolve) => this.#ends.push(() => resolve(name)));
  };

  async endAll(): Promise<void> {
    for (let end = this.#ends.shift(); end !== undefined; end = this.#ends.shift()) {
      end();
      await new Promise(setImmediate);
    }
  }
}

describe("turns", () => {
  it("leave room for others while one party asks for everything", async () => {
    const turns = new FairTurns(LIMITS);
    const calls = new Calls();
    const { signal } = new AbortController();
    const flood = Array.from({ length: 50 }, () => turns.run("greedy", signal, calls.call("greedy")));
    const honest = turns.run("honest", signal, calls.call("honest"));
    await new Promise(setImmediate);
    expect(calls.started).toEqual(["greedy", "greedy", "honest"]);
    await calls.endAll();
    expect(await honest).toBe("honest");
    expect(await Promise.all(flood)).toHaveLength(50);
    expect(turns.parties).toBe(0);
  });

  it("end their waiting with the signal, and forget the party", async () => {
    const turns = new FairTurns({ inAll: 1, each: 1 });
    const calls = new Calls();
    const stop = new AbortController();
    const first = turns.run("a", new AbortController().signal, calls.call("a"));
    const waiting = turns.run("b", stop.signal, calls.call("b"));
    stop.abort(new Error("too late"));
    await expect(waiting).rejects.toThrow("too late");
    await calls.endAll();
    await first;
    expect(calls.started).toEqual(["a"]);
    expect(turns.parties).toBe(0);
  });

  it("go on after a call that failed", async () => {
    const turns = new FairTurns({ inAll: 1, each: 1 });
    const { signal } = new AbortController();
    await expect(turns.run("a", signal, () => Promise.reject(new Error("refused")))).rejects.toThrow("refused");
    expect(await turns.run("a", signal, async () => "next")).toBe("next");
  });
});
