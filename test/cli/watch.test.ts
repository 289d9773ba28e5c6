import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { claims, FIRST } from "./support/answers.ts";
import { CliBed } from "./support/cli-bed.ts";
import { goldenPath, onEveryTerminal } from "./support/golden.ts";
import { macpool } from "./support/macpool.ts";
import { problem } from "./support/scripted-cluster.ts";
import { listedEvents } from "./support/watch-events.ts";

let bed: CliBed;

beforeEach(async () => {
  bed = await CliBed.start();
});
afterEach(async () => {
  await bed[Symbol.asyncDispose]();
});

const list = (items: readonly object[]) => ({ body: { items, total: items.length } });

describe("a watch", () => {
  it("says what REST refuses, and begins with what there is", async () => {
    const detail = 'User "x" may not list macclaims: ask for a role that allows it.';
    bed.cluster.script = { proxy: problem(403, "FORBIDDEN", detail) };
    expect((await macpool(bed.kubeconfig, ["watch", "-A"])).stderr).toBe(`error: ${detail}\n`);
    const ended = new AbortController();
    const printed: string[] = [];
    const [first, second] = claims;
    const events = [
      listedEvents(claims.slice(0, 2)),
      `id: a-2\ndata: ${JSON.stringify({ type: "MODIFIED", object: { ...first, revision: "80" } })}\n\n`,
      'data: {"type":"BOOKMARK"}\n\n',
      `id: a-3\ndata: ${JSON.stringify({ type: "DELETED", object: second })}\n\n`,
    ];
    bed.cluster.script = {
      rest: (_, query) =>
        query.get("sendInitialEvents") === "true" ? { body: events.join(""), type: "text/event-stream" } : list([]),
    };
    const onPrint = (text: string): void => {
      printed.push(text);
      if (printed.length === 4) ended.abort();
    };
    const { exitCode } = await macpool(bed.kubeconfig, ["watch", "-A"], { signal: ended.signal, onPrint });
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
    bed.cluster.script = {
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
      return macpool(bed.kubeconfig, argv, { terminal, signal: ended.signal, onPrint });
    });
    await expect(texts).toMatchFileSnapshot(goldenPath("watch"));
  });

  it("goes on where it was when the connection ends", async () => {
    const ended = new AbortController();
    const [first] = claims;
    const event = (id: number, revision: string) =>
      `id: a-${id}\ndata: ${JSON.stringify({ type: "MODIFIED", object: { ...first, revision } })}\n\n`;
    let watches = 0;
    bed.cluster.script = {
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
    await macpool(bed.kubeconfig, ["watch", "-A", "-o", "json"], { signal: ended.signal, onPrint });
    expect(printed.map((line) => JSON.parse(line).object.revision)).toEqual(["1", "2"]);
    const resumed = bed.cluster.asked.map(({ headers }) => headers["last-event-id"]).filter(Boolean);
    expect(resumed[0]).toBe("a-1");
  });
});
