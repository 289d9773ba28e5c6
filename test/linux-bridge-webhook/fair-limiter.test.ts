import { describe, expect, it } from "vitest";
import { FairLimiter } from "../../src/linux-bridge-webhook/fair-limiter.ts";

const LIMITS = { total: 4, perNamespace: 2 };

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

describe("a fair limiter", () => {
  it("leaves room for others while one namespace asks for everything", async () => {
    const limiter = new FairLimiter(LIMITS);
    const calls = new Calls();
    const { signal } = new AbortController();
    const flood = Array.from({ length: 50 }, () => limiter.run("greedy", signal, calls.call("greedy")));
    const honest = limiter.run("honest", signal, calls.call("honest"));
    await new Promise(setImmediate);
    expect(calls.started).toEqual(["greedy", "greedy", "honest"]);
    await calls.endAll();
    expect(await honest).toBe("honest");
    expect(await Promise.all(flood)).toHaveLength(50);
    expect(limiter.namespaces).toBe(0);
  });

  it("ends the waiting with the signal, and forgets the namespace", async () => {
    const limiter = new FairLimiter({ total: 1, perNamespace: 1 });
    const calls = new Calls();
    const stop = new AbortController();
    const first = limiter.run("a", new AbortController().signal, calls.call("a"));
    const waiting = limiter.run("b", stop.signal, calls.call("b"));
    stop.abort(new Error("too late"));
    await expect(waiting).rejects.toThrow("too late");
    await calls.endAll();
    await first;
    expect(calls.started).toEqual(["a"]);
    expect(limiter.namespaces).toBe(0);
  });

  it("goes on after a call that failed", async () => {
    const limiter = new FairLimiter({ total: 1, perNamespace: 1 });
    const { signal } = new AbortController();
    await expect(limiter.run("a", signal, () => Promise.reject(new Error("refused")))).rejects.toThrow("refused");
    expect(await limiter.run("a", signal, async () => "next")).toBe("next");
  });
});
