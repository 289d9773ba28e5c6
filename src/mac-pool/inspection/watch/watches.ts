import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import type { User } from "../../../kube/access/user.ts";
import type { Clock } from "../../../kube/clock.ts";
import { Problem } from "../rest/problem.ts";
import type { Sink } from "./feed.ts";

const MAX_WATCHES = 128;
/** Fifty pages of one account, each with two. More, or a script that forgets its connections, leaves room for others. */
const MAX_OF_USER = 100;
/** Below the time after which a connection on which no byte moves is closed, and proxies lose patience. */
const BOOKMARK_MS = 15_000;
/** How often the rights of a viewer are checked anew. What ReaderAccess keeps comes on top. */
const RECHECK_MS = 60_000;
/** What may wait for a viewer who reads too slowly, and for all of them, where one of them has more than its part. */
const MAX_WAITING_BYTES = 1024 * 1024;
const MAX_WAITING_BYTES_IN_ALL = 16 * 1024 * 1024;
const PART_BYTES = MAX_WAITING_BYTES_IN_ALL / MAX_WATCHES;

interface Watch {
  readonly sink: Sink;
  readonly raw: ServerResponse;
  /** Whether the user still may see what this watch sends. Throws a Problem where the user may see nothing. */
  readonly isAllowed: () => Promise<boolean>;
  checkedMs: number;
}

export interface WatchesOptions {
  readonly clock: Clock;
  /** Takes an answer that goes on without an end out of the requests under way. */
  readonly hold: (reply: FastifyReply) => void;
  /** Shows each viewer that its connection lives. */
  readonly bookmark: () => void;
}

/** The open answers of `?watch=true`. */
export class Watches {
  readonly #options: WatchesOptions;
  readonly #open = new Set<Watch>();
  readonly #ofUser = new Map<string, number>();
  #isBeating = false;

  constructor(options: WatchesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Answers with server-sent events. `watch` starts to write into the sink and returns what ends that. */
  open(
    reply: FastifyReply,
    { username }: User,
    isAllowed: Watch["isAllowed"],
    watch: (sink: Sink) => () => void,
  ): void {
    const own = this.#ofUser.get(username) ?? 0;
    if (this.#open.size >= MAX_WATCHES || own >= MAX_OF_USER) {
      const detail = "Too many watches are open at this replica: close some, or try again later.";
      throw new Problem("MACPOOL_TOO_MANY_VIEWERS", detail);
    }
    this.#options.hold(reply);
    reply.hijack();
    const { raw } = reply;
    const write = (text: string): boolean => {
      const reads = !raw.destroyed && raw.writableLength <= this.#mostWaiting();
      if (reads) raw.write(text);
      return reads;
    };
    const drained = (): Promise<void> => drainOf(raw);
    const sink: Sink = { write, drained, end: () => raw.destroy() };
    const opened: Watch = { sink, raw, isAllowed, checkedMs: this.#options.clock.monotonicMs() };
    this.#open.add(opened);
    this.#ofUser.set(username, own + 1);
    raw.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "x-content-type-options": "nosniff",
    });
    raw.flushHeaders();
    const stop = watch(sink);
    raw.once("close", () => {
      stop();
      this.#open.delete(opened);
      const left = (this.#ofUser.get(username) ?? 1) - 1;
      if (left === 0) this.#ofUser.delete(username);
      else this.#ofUser.set(username, left);
    });
    this.#beat();
  }

  #mostWaiting(): number {
    let all = 0;
    for (const { raw } of this.#open) all += raw.writableLength;
    return all <= MAX_WAITING_BYTES_IN_ALL ? MAX_WAITING_BYTES : PART_BYTES;
  }

  #beat(): void {
    if (this.#isBeating || this.#open.size === 0) return;
    this.#isBeating = true;
    this.#options.clock.after(BOOKMARK_MS, () => {
      this.#isBeating = false;
      this.#options.bookmark();
      const nowMs = this.#options.clock.monotonicMs();
      for (const watch of [...this.#open]) if (nowMs - watch.checkedMs >= RECHECK_MS) void this.#check(watch, nowMs);
      this.#beat();
    });
  }

  /** An API server that does not answer ends no watch; one that says no does. */
  async #check(watch: Watch, nowMs: number): Promise<void> {
    watch.checkedMs = nowMs;
    const isAllowed = await watch.isAllowed().catch((error: unknown) => {
      const status = error instanceof Problem ? error.view.status : 0;
      return status !== 401 && status !== 403;
    });
    if (!isAllowed) watch.sink.end();
  }
}

/** Resolves in a later turn of the event loop: a long answer to a quick reader leaves time for others. */
function drainOf(raw: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (raw.destroyed || !raw.writableNeedDrain) {
      setImmediate(resolve);
      return;
    }
    const over = (): void => {
      raw.off("drain", over).off("close", over);
      resolve();
    };
    raw.on("drain", over).on("close", over);
  });
}
