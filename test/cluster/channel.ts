/**
 * Calls between a process and the child it spawned with an IPC channel: the cluster's outside with its supervisor, the
 * supervisor with its nodes. Parameters and results are JSON; an error arrives with its message.
 */
import type { ChildProcess } from "node:child_process";
import type { Server } from "node:net";

/** What the other side offers: each method takes one parameter. */
// biome-ignore lint/suspicious/noExplicitAny: a bound for method tables, never used as a value's type
export type Methods<M> = { [K in keyof M]: (parameter: any) => Promise<unknown> };

interface Call {
  readonly call: number;
  readonly method: string;
  readonly parameter: unknown;
}

type Reply = { readonly reply: number; readonly result: unknown } | { readonly reply: number; readonly error: string };

interface Notice {
  readonly notice: string;
}

/** Comes with a listening socket. */
interface Listener {
  readonly listener: true;
}

type Message = Call | Reply | Notice | Listener;

/** Hands a listening socket to the child and closes it here: with two copies connections would come to both. */
export function handOver(child: ChildProcess, listener: Server): void {
  child.send({ listener: true } satisfies Listener, listener);
  listener.close();
}

/** The calling side, in the parent. */
export class Caller<M extends Methods<M>> {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #next = 1;

  /** `onNotice` gets the sentences that the child sends unasked. */
  constructor(child: ChildProcess, onNotice: (text: string) => void = () => {}) {
    this.#child = child;
    child.on("message", (message: Message) => {
      if ("notice" in message) onNotice(message.notice);
      else if ("reply" in message) this.#settle(message);
    });
    const fail = (): void => {
      for (const { reject } of this.#waiting.values()) reject(new Error("the process has ended"));
      this.#waiting.clear();
    };
    child.once("exit", fail);
    child.once("error", fail);
  }

  async call<K extends keyof M & string>(
    method: K,
    parameter: Parameters<M[K]>[0],
  ): Promise<Awaited<ReturnType<M[K]>>> {
    if (!this.#child.connected) throw new Error(`${method}: the process has ended`);
    const call = this.#next++;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(call, waiting);
    this.#child.send({ call, method, parameter } satisfies Call);
    return (await waiting.promise) as Awaited<ReturnType<M[K]>>;
  }

  #settle(reply: Reply): void {
    const waiting = this.#waiting.get(reply.reply);
    this.#waiting.delete(reply.reply);
    if ("error" in reply) waiting?.reject(new Error(reply.error));
    else waiting?.resolve(reply.result);
  }
}

/** The answering side, in the child. Ends this process when the parent is gone. */
export function serveCalls<M extends Methods<M>>(methods: M, onListener: (listener: Server) => void = () => {}): void {
  process.on("disconnect", () => process.exit(1));
  process.on("message", (message: Message, handle) => {
    if ("call" in message) void answer(methods, message);
    else if ("listener" in message) onListener(handle as Server);
  });
}

/** Tells the parent something it did not ask for. */
export function sendNotice(text: string): void {
  process.send?.({ notice: text } satisfies Notice);
}

async function answer<M extends Methods<M>>(methods: M, { call, method, parameter }: Call): Promise<void> {
  let reply: Reply;
  try {
    const handler = methods[method as keyof M];
    reply = { reply: call, result: await handler(parameter) };
  } catch (error) {
    reply = { reply: call, error: error instanceof Error ? error.message : String(error) };
  }
  if (process.connected) process.send?.(reply);
}
