/**
 * Child process of the inspection benchmark, which stands for other machines. Each message is an order, which ends the one
 * before: `view` keeps pages open, `flood` asks with random tokens for a time, at a rate unless all its connections wait. It
 * answers when the pages are open, or the flood is over, with what was answered since the answer before.
 */
import { Agent, request } from "node:https";

export type ReadersOrder =
  | { readonly what: "view"; readonly port: number; readonly token: string; readonly pages: number }
  | { readonly what: "flood"; readonly port: number; readonly perSecond: number; readonly forMs: number }
  | { readonly what: "nothing" };

export interface Answered {
  /** By status, and `failed` for those that did not come. */
  readonly answers: Readonly<Record<string, number>>;
  /** What the order took. */
  readonly ms: number;
}

/** As src/web asks: streams while it is visible, and what its view shows with each refresh. */
const STREAMS = ["collisions", "denials"];
const REFRESH_MS = 4_000;
const VIEWS: readonly (readonly string[])[] = [
  ["pools", "consistency"],
  ["claims?limit=200"],
  ["pools", "pools/default/map?cells=4096"],
];
/** Of a browser to a host. */
const CONNECTIONS = 6;
/** Fewer than a replica lets its inspection have: above that, connections are what is fought over. */
const FLOOD_CONNECTIONS = 200;

/** It keeps its connections from flood to flood: what new ones cost is another attack. */
const floodAgent = new Agent({ keepAlive: true, maxSockets: FLOOD_CONNECTIONS, rejectUnauthorized: false });
let stop = new AbortController();
let answers: Record<string, number> = {};

process.on("message", async (order: ReadersOrder) => {
  stop.abort();
  stop = new AbortController();
  const startMs = performance.now();
  // One after the other, so that their refreshes fall on different times.
  if (order.what === "view") for (let at = 0; at < order.pages; at++) await openPage(order, at);
  if (order.what === "flood") await flood(order);
  process.send?.({ answers, ms: performance.now() - startMs } satisfies Answered);
  answers = {};
});
process.on("disconnect", () => process.exit(0));

interface Question {
  readonly port: number;
  readonly path: string;
  readonly token: string;
  readonly agent: Agent;
  readonly tag?: string | undefined;
}

/** Resolves with the tag of the answer, when it has come whole or, of a stream, has begun. */
function ask({ port, path, token, agent, tag }: Question): Promise<string | undefined> {
  const { signal } = stop;
  const headers = { authorization: `Bearer ${token}`, ...(tag === undefined ? {} : { "if-none-match": tag }) };
  return new Promise((resolve) => {
    const asked = request({ host: "127.0.0.1", port, path: `/api/v1/${path}`, agent, headers }, (answer) => {
      const done = (): void => resolve(answer.headers.etag ?? tag);
      count(String(answer.statusCode));
      answer.on("error", done);
      if (answer.headers["content-type"] === "text/event-stream") answer.once("data", done).resume();
      else answer.on("end", done).resume();
    });
    asked.on("error", () => {
      if (!signal.aborted) count("failed");
      resolve(undefined);
    });
    asked.end();
  });
}

function count(answer: string): void {
  answers[answer] = (answers[answer] ?? 0) + 1;
}

/** Resolves when its streams have begun and its view was answered once. */
async function openPage({ port, token }: ReadersOrder & { readonly what: "view" }, at: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, rejectUnauthorized: false });
  const { signal } = stop;
  const paths = VIEWS[at % VIEWS.length] ?? [];
  const tags = new Map<string, string | undefined>();
  const refresh = (): Promise<unknown> =>
    Promise.all(
      paths.map(async (path) => tags.set(path, await ask({ port, path, token, agent, tag: tags.get(path) }))),
    );
  for (const path of STREAMS) {
    await ask({ port, path: `${path}?watch=true`, token, agent });
    await ask({ port, path, token, agent });
  }
  await refresh();
  const timer = setInterval(() => void refresh(), REFRESH_MS);
  signal.addEventListener("abort", () => {
    clearInterval(timer);
    agent.destroy();
  });
}

async function flood({ port, perSecond, forMs }: ReadersOrder & { readonly what: "flood" }): Promise<void> {
  const open = new Set<Promise<unknown>>();
  const startMs = performance.now();
  let sent = 0;
  for (let ms = 0; ms < forMs; ms = performance.now() - startMs) {
    const due = Math.floor((ms * perSecond) / 1000);
    for (; sent < due && open.size < FLOOD_CONNECTIONS; sent++) {
      const asked = ask({ port, path: "claims", token: `${sent}-${Math.random()}`, agent: floodAgent });
      open.add(asked);
      void asked.then(() => open.delete(asked));
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await Promise.all(open);
}
