import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RestBackend } from "../../src/cli/backends/rest-backend.ts";
import { ApiError } from "../../src/kube/client/api-error.ts";
import { claims, FIRST } from "./support/answers.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { goldenPath, onEveryTerminal } from "./support/golden.ts";
import { type Ended, macpool } from "./support/macpool.ts";
import { CLAIM, POOL } from "./support/objects.ts";
import { type Answer, problem, status } from "./support/scripted-cluster.ts";
import { listedEvents } from "./support/watch-events.ts";

let harness: CliHarness;

beforeEach(async () => {
  harness = await CliHarness.start();
});
afterEach(async () => {
  await harness[Symbol.asyncDispose]();
});

const list = (items: readonly object[]) => ({ body: { items, total: items.length } });

const events = (body: string): Answer => ({ body, type: "text/event-stream" });
const event = (id: string, type: string, object?: object): string =>
  `id: ${id}\ndata: ${JSON.stringify({ type, object })}\n\n`;

/** Watches of a service that answers each request in turn, the last one for ever, until so many events are printed. */
async function watched(answers: readonly Answer[], lines: number): Promise<Ended & { readonly told: string[] }> {
  const ended = new AbortController();
  const told: string[] = [];
  let requests = 0;
  harness.cluster.script = {
    rest: (_, query) => (query.has("watch") ? answers[Math.min(requests++, answers.length - 1)] : list([])),
  };
  const onPrint = (line: string): void => {
    const { type, object } = JSON.parse(line);
    told.push(`${type} ${object.mac} ${object.revision}`);
    if (told.length === lines) ended.abort();
  };
  const argv = ["watch", "-A", "-o", "json"];
  return { ...(await macpool(harness.kubeconfig, argv, { signal: ended.signal, onPrint })), told };
}

describe("a watch", () => {
  it("is what list -w shows too", async () => {
    harness.cluster.script = { rest: (_, query) => (query.has("watch") ? events(listedEvents(claims)) : list([])) };
    const printed = async (argv: readonly string[]): Promise<readonly string[]> => {
      const ended = new AbortController();
      const lines: string[] = [];
      const onPrint = (line: string): void => {
        if (lines.push(line) === claims.length) ended.abort();
      };
      await macpool(harness.kubeconfig, argv, { signal: ended.signal, onPrint });
      return lines;
    };
    const watched = await printed(["watch", "-A"]);
    expect(watched).toHaveLength(claims.length);
    expect(await printed(["list", "-A", "-w"])).toEqual(watched);
  });

  it("says what REST refuses, and begins with what there is", async () => {
    const detail = 'User "x" may not list macclaims: ask for a role that allows it.';
    harness.cluster.script = { proxy: problem(403, "FORBIDDEN", detail) };
    expect((await macpool(harness.kubeconfig, ["watch", "-A"])).stderr).toBe(`error: ${detail}\n`);
    const ended = new AbortController();
    const printed: string[] = [];
    const [first, second] = claims;
    const events = [
      listedEvents(claims.slice(0, 2)),
      `id: a-2\ndata: ${JSON.stringify({ type: "MODIFIED", object: { ...first, revision: "80" } })}\n\n`,
      'data: {"type":"BOOKMARK"}\n\n',
      `id: a-3\ndata: ${JSON.stringify({ type: "DELETED", object: second })}\n\n`,
    ];
    harness.cluster.script = {
      rest: (_, query) =>
        query.get("sendInitialEvents") === "true" ? { body: events.join(""), type: "text/event-stream" } : list([]),
    };
    const onPrint = (text: string): void => {
      printed.push(text);
      if (printed.length === 4) ended.abort();
    };
    const { exitCode } = await macpool(harness.kubeconfig, ["watch", "-A"], { signal: ended.signal, onPrint });
    expect(exitCode).toBe(0);
    expect(printed.map((line) => line.slice(10, 37))).toEqual([
      "ADDED     02:00:00:00:00:01",
      `ADDED     ${FIRST}`,
      "MODIFIED  02:00:00:00:00:01",
      `DELETED   ${FIRST}`,
    ]);
  });

  it("prints a line a change", async () => {
    const changes = [
      { type: "MODIFIED", object: { ...claims[1], phase: "Quarantined", owners: [], revision: "81" } },
      { type: "DELETED", object: claims[0] },
    ];
    const events = changes.map((change, index) => `id: a-${index + 2}\ndata: ${JSON.stringify(change)}\n\n`).join("");
    const body = `${listedEvents(claims)}${events}`;
    harness.cluster.script = {
      rest: (_, query) => (query.has("watch") ? { body, type: "text/event-stream" } : list([])),
    };
    const argv = ["watch", "-A"];
    const texts = await onEveryTerminal(argv, (terminal) => {
      const ended = new AbortController();
      let lines = 0;
      const onPrint = (): void => {
        lines += 1;
        if (lines === claims.length + 2) ended.abort();
      };
      return macpool(harness.kubeconfig, argv, { terminal, signal: ended.signal, onPrint });
    });
    await expect(texts).toMatchFileSnapshot(goldenPath("watch"));
  });

  it("goes on where it was when the connection ends", async () => {
    const ended = new AbortController();
    const [first] = claims;
    const event = (id: number, revision: string) =>
      `id: a-${id}\ndata: ${JSON.stringify({ type: "MODIFIED", object: { ...first, revision } })}\n\n`;
    let watches = 0;
    harness.cluster.script = {
      rest: (_, query) => {
        if (!query.has("watch")) return list([]);
        watches += 1;
        return { body: event(watches, `${watches}`), type: "text/event-stream" };
      },
    };
    const printed: string[] = [];
    const onPrint = (text: string): void => {
      printed.push(text);
      if (printed.length === 2) ended.abort();
    };
    await macpool(harness.kubeconfig, ["watch", "-A", "-o", "json"], { signal: ended.signal, onPrint });
    expect(printed.map((line) => JSON.parse(line).object.revision)).toEqual(["1", "2"]);
    const resumed = harness.cluster.asked.map(({ headers }) => headers["last-event-id"]).filter(Boolean);
    expect(resumed[0]).toBe("a-1");
  });
});

describe("the list that a watch begins with", () => {
  const [first, second, third] = claims;
  const reset = event("a-list", "RESET");
  const added = (object?: object) => event("a-list", "ADDED", object);

  it("is begun anew when it is cut, and nothing of it is told twice or taken away", async () => {
    const changed = { ...second, revision: "90" };
    const answers = [
      events(listedEvents(claims.slice(0, 2))),
      events(`${reset}${added(changed)}`),
      events(`${reset}${added(first)}${added(changed)}${added(third)}${event("a-9", "BOOKMARK")}`),
    ];
    const { told } = await watched(answers, 4);
    expect(told).toEqual([
      `ADDED ${first?.mac} 71`,
      `ADDED ${FIRST} 72`,
      `MODIFIED ${FIRST} 90`,
      `ADDED ${third?.mac} 73`,
    ]);
  });

  it("is told as what has changed since the one before, after a second RESET in its middle too", async () => {
    const answers = [
      events(listedEvents(claims.slice(0, 2))),
      events(`${reset}${added(third)}${reset}${added(second)}${event("b-1", "BOOKMARK")}${reset}${added(third)}`),
      events(`${reset}${added(second)}${added(third)}${event("b-2", "BOOKMARK")}`),
    ];
    const { told } = await watched(answers, 4);
    expect(told).toEqual([
      `ADDED ${first?.mac} 71`,
      `ADDED ${FIRST} 72`,
      `DELETED ${first?.mac} 71`,
      `ADDED ${third?.mac} 73`,
    ]);
  });
});

describe("a watch that is refused because the service is busy", () => {
  const detail = "Too many watches are open at this replica: close some, or try again later.";
  const busy: Answer = { ...problem(429, "TOO_MANY_VIEWERS", detail), headers: { "retry-after": "0" } };
  const [first] = claims;

  it("tries again, when it begins and when it goes on", async () => {
    const unready = { ...problem(503, "NOT_READY", "not ready"), headers: { "retry-after": "0" } };
    const next = event("a-2", "MODIFIED", { ...first, revision: "72" });
    const answers = [busy, unready, events(listedEvents(claims.slice(0, 1))), busy, unready, events(next)];
    const { told, stderr, exitCode } = await watched(answers, 2);
    expect(told).toEqual([`ADDED ${first?.mac} 71`, `MODIFIED ${first?.mac} 72`]);
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
    const resumed = harness.cluster.asked.map(({ headers }) => headers["last-event-id"]);
    expect(resumed.slice(-3)).toEqual(["a-1", "a-1", "a-1"]);
  });

  it("says so when it stays busy", async () => {
    const { told, stderr, exitCode } = await watched([events(listedEvents(claims.slice(0, 1))), busy], 2);
    expect(told).toHaveLength(1);
    expect({ stderr, exitCode }).toEqual({ stderr: `error: ${detail}\n`, exitCode: 2 });
    expect(harness.cluster.asked.filter(({ path }) => path.includes("watch=true"))).toHaveLength(10);
  });

  it("waits as long as it is asked to, a second where nothing is said, and not for ever", async () => {
    const waits: number[] = [];
    const refusals = [2_000, undefined, 60_000];
    const backend = new RestBackend({
      get: async () => ({ status: 200, body: { items: [], total: 0 } }),
      stream: async () => {
        throw new ApiError({ status: 429, reason: "", message: "slow down", retryAfterMs: refusals[waits.length] });
      },
      sleep: async (durationMs) => {
        waits.push(durationMs);
      },
    });
    const end = backend.watch(undefined, new AbortController().signal).next();
    await expect(end).rejects.toThrow("the API server refuses more requests for now (slow down)");
    expect(waits.map((ms) => Math.floor(ms / 1_000))).toEqual([2, 1]);
  });

  it("asks the objects when the API server has nobody to ask in its place", async () => {
    const ended = new AbortController();
    let requests = 0;
    harness.cluster.script = {
      pools: [POOL],
      claims: [CLAIM],
      rest: (_, query) => {
        if (!query.has("watch")) return list([]);
        requests += 1;
        const away = { ...status(503, "no endpoints available"), headers: { "retry-after": "0" } };
        return requests === 1 ? events(listedEvents(claims.slice(0, 1))) : away;
      },
    };
    const onPrint = (text: string): void => {
      if (text.includes(FIRST)) ended.abort();
    };
    const { stderr } = await macpool(harness.kubeconfig, ["watch", "-A"], { signal: ended.signal, onPrint });
    expect(stderr).toContain("it does not answer (no endpoints available)");
  });
});
