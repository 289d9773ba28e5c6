import { type Signal, signal } from "@preact/signals";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MAC_POOL_TOKEN_HEADER } from "../../src/api/names.ts";
import type { ProblemView, WatchEventView } from "../../src/mac-pool/inspection/rest/views.ts";
import { LiveList } from "../../src/web/live-list.ts";
import { isSignedOut, signIn, signOut } from "../../src/web/session.ts";

/** A pool in the place of `fetch`: it refuses as often as it is told, and then opens a stream for each request. */
class ScriptedPool {
  readonly streams: ScriptedStream[] = [];
  readonly refusals: Response[] = [];

  readonly fetch = async (address: string, { signal, headers }: ScriptedRequest): Promise<Response> => {
    const refusal = this.refusals.shift();
    if (refusal !== undefined) return refusal;
    const stream = new ScriptedStream(address, headers, signal);
    this.streams.push(stream);
    return new Response(stream.body, { headers: { "content-type": "text/event-stream" } });
  };

  /** The newest one. */
  get stream(): ScriptedStream {
    const stream = this.streams.at(-1);
    if (stream === undefined) throw new Error("nobody has asked");
    return stream;
  }

  refuse(status: number, code: string, detail: string, headers: Readonly<Record<string, string>> = {}): void {
    const body: ProblemView = { type: `urn:macpool:${code}`, code, title: code, status, detail };
    const type = { "content-type": "application/problem+json" };
    this.refusals.push(new Response(JSON.stringify(body), { status, headers: { ...type, ...headers } }));
  }
}

interface ScriptedRequest {
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>>;
}

class ScriptedStream {
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ReadableStream<Uint8Array>;
  /** Whether the reader has left. */
  isLeft = false;
  readonly #pieces = new TransformStream<Uint8Array, Uint8Array>();
  readonly #writer = this.#pieces.writable.getWriter();

  constructor(address: string, headers: Readonly<Record<string, string>>, signal: AbortSignal) {
    this.address = address;
    this.headers = headers;
    this.body = this.#pieces.readable;
    this.#writer.closed.catch(() => {});
    signal.addEventListener("abort", () => {
      this.isLeft = true;
      this.#writer.abort(signal.reason).catch(() => {});
    });
  }

  /** Events in one piece. */
  tell(...events: readonly WatchEventView<unknown>[]): void {
    const text = events.map((event) => `id: a-1\ndata: ${JSON.stringify(event)}\n\n`).join("");
    this.#writer.write(new TextEncoder().encode(text)).catch(() => {});
  }

  /** The connection breaks. */
  cut(): void {
    this.#writer.abort(new TypeError("network error")).catch(() => {});
  }
}

interface Item {
  readonly mac: string;
  readonly text: string;
}

const RESET = { type: "RESET" } as const;
const BOOKMARK = { type: "BOOKMARK" } as const;
const added = (mac: string, text = "") => ({ type: "ADDED" as const, object: { mac, text } });
const whole = (...macs: string[]) => [RESET, ...macs.map((mac) => added(mac)), BOOKMARK];

/** Longer than any pause before the next try. */
const PAUSE_MS = 15_000;

let pool: ScriptedPool;
let isVisible: Signal<boolean>;
let list: LiveList<Item>;

beforeEach(() => {
  vi.useFakeTimers();
  pool = new ScriptedPool();
  vi.stubGlobal("fetch", pool.fetch);
  signIn("one", "");
  isVisible = signal(true);
  list = new LiveList<Item>("collisions", ({ mac }) => mac);
  list.start(isVisible);
});
afterEach(() => {
  isVisible.value = false;
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Until the list has read what was told. */
const settle = () => vi.advanceTimersByTimeAsync(0);
const nextTry = () => vi.advanceTimersByTimeAsync(PAUSE_MS);
const shown = () => list.items.value && [...list.items.value.values()].map(({ mac, text }) => `${mac}${text}`);

describe("a list that follows the pool", () => {
  it("shows nothing before the first list is complete, and then what changes", async () => {
    await settle();
    expect(pool.stream.address).toBe("api/v1/collisions?watch=true&sendInitialEvents=true");
    expect(pool.stream.headers).toMatchObject({ [MAC_POOL_TOKEN_HEADER]: "Bearer one" });
    pool.stream.tell(RESET, added("a"));
    await settle();
    expect([shown(), list.isLive.value]).toEqual([undefined, false]);
    pool.stream.tell(added("b"), { ...BOOKMARK, partial: ["two"] });
    await settle();
    expect([shown(), list.isLive.value, list.partial.value]).toEqual([["a", "b"], true, ["two"]]);
    pool.stream.tell(
      added("c"),
      { type: "MODIFIED", object: { mac: "a", text: "!" } },
      { type: "DELETED", object: { mac: "b", text: "" } },
      BOOKMARK,
    );
    await settle();
    expect([shown(), list.partial.value]).toEqual([["a!", "c"], ["two"]]);
  });

  it("keeps what it shows while the next list is cut in its middle, until one is complete", async () => {
    await settle();
    pool.stream.tell(...whole("a", "b"));
    await settle();
    pool.stream.cut();
    await settle();
    expect([shown(), list.isLive.value]).toEqual([["a", "b"], false]);
    await nextTry();
    pool.stream.tell(RESET, added("c"));
    await settle();
    pool.stream.cut();
    await settle();
    expect([shown(), list.isLive.value, list.problem.value === undefined]).toEqual([["a", "b"], false, false]);
    await nextTry();
    expect(pool.streams).toHaveLength(3);
    pool.stream.tell(...whole("b", "d"));
    await settle();
    expect([shown(), list.isLive.value, list.problem.value]).toEqual([["b", "d"], true, undefined]);
  });

  it("takes the list after a RESET in place of all it knew, and after a second one nothing of the first", async () => {
    await settle();
    pool.stream.tell(...whole("a"), RESET, added("b"));
    await settle();
    expect(shown()).toEqual(["a"]);
    pool.stream.tell(RESET, added("c"));
    await settle();
    expect(shown()).toEqual(["a"]);
    pool.stream.tell(BOOKMARK);
    await settle();
    expect(shown()).toEqual(["c"]);
  });

  it("says why it is refused, and tries again after the time that it is told", async () => {
    await settle();
    pool.stream.tell(...whole("a"));
    await settle();
    pool.refuse(429, "MACPOOL_TOO_MANY_VIEWERS", "Too many watches.", { "retry-after": "3" });
    pool.stream.cut();
    await vi.advanceTimersByTimeAsync(500);
    expect([list.problem.value?.message, shown()]).toEqual(["Too many watches.", ["a"]]);
    await vi.advanceTimersByTimeAsync(2_400);
    expect(pool.streams).toHaveLength(1);
    await nextTry();
    expect(pool.streams).toHaveLength(2);
    pool.stream.tell(...whole("b"));
    await settle();
    expect([list.problem.value, shown()]).toEqual([undefined, ["b"]]);
  });

  it("is cut while nobody looks, and begins anew when somebody does, with what it showed", async () => {
    await settle();
    pool.stream.tell(...whole("a"));
    await settle();
    isVisible.value = false;
    expect([pool.stream.isLeft, list.isLive.value]).toEqual([true, false]);
    await nextTry();
    expect([pool.streams.length, list.problem.value]).toEqual([1, undefined]);
    isVisible.value = true;
    await settle();
    expect([pool.streams.length, shown(), list.isLive.value]).toEqual([2, ["a"], false]);
    pool.stream.tell(...whole("b"));
    await settle();
    expect([shown(), list.isLive.value]).toEqual([["b"], true]);
  });
});

describe("what one reader was told", () => {
  beforeEach(async () => {
    await settle();
    pool.stream.tell({ ...RESET }, added("secret"), { ...BOOKMARK, partial: ["two"] });
    await settle();
  });

  it("vanishes when he signs out", async () => {
    signOut();
    expect([pool.stream.isLeft, shown(), list.partial.value, list.isLive.value]).toEqual([true, undefined, [], false]);
    await nextTry();
    expect(pool.streams).toHaveLength(1);
  });

  it("vanishes when the pool does not know him any more", async () => {
    pool.refuse(401, "MACPOOL_UNAUTHENTICATED", "Send a token.");
    pool.stream.cut();
    await nextTry();
    expect([isSignedOut.value, shown()]).toEqual([true, undefined]);
  });

  it("is not told to the next one, even if it arrives after he has left", async () => {
    pool.stream.tell(...whole("late", "secret"));
    signIn("two", "mine");
    expect(shown()).toBeUndefined();
    await settle();
    expect(shown()).toBeUndefined();
    expect(pool.stream.address).toContain("namespace=mine");
    pool.stream.tell(...whole("own"));
    await nextTry();
    expect([shown(), list.isLive.value, list.problem.value]).toEqual([["own"], true, undefined]);
  });

  it("is no problem of the next one", async () => {
    pool.refuse(403, "MACPOOL_FORBIDDEN", "He may not.");
    pool.stream.cut();
    await vi.advanceTimersByTimeAsync(500);
    expect(list.problem.value?.message).toBe("He may not.");
    signOut();
    expect(list.problem.value).toBeUndefined();
    signIn("two", "");
    await settle();
    expect(list.problem.value).toBeUndefined();
  });
});
