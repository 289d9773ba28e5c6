import { describe, expect, test } from "vitest";
import { LIST, server, start as startBed, story, told, WATCH } from "../support/informer-bed.ts";
import { settle } from "../support/manual-clock.ts";
import { configMap } from "../support/objects.ts";
import { statusObject } from "../support/scripted-server.ts";

const start = (options: Parameters<typeof startBed>[0] = {}) =>
  startBed({ ...options, rules: { watchList: true, ...options.rules } });

const STREAM = /^\/api\/v1\/configmaps\?watch=true.*&sendInitialEvents=true&resourceVersionMatch=NotOlderThan/;
const END = { "k8s.io/initial-events-end": "true" };

const end = (resourceVersion: string) => ({
  kind: "ConfigMap",
  apiVersion: "v1",
  metadata: { resourceVersion, annotations: END },
});

describe("a stream of initial events", () => {
  test("is one request: nothing is told before its end, everything at once then, and it goes on as a watch", async () => {
    const informer = start();
    const stream = (await server.next("GET", STREAM)).open();
    stream
      .event("ADDED", configMap("a", "5"))
      .event("ADDED", configMap("b", "3"))
      .event("MODIFIED", configMap("a", "7"));
    stream.event("ADDED", configMap("gone", "6")).event("DELETED", configMap("gone", "8"));
    await settle();
    expect(informer.hasSynced).toBe(false);
    stream.event("BOOKMARK", end("9")).event("ADDED", configMap("c", "10"));
    await told("add default/c@10");
    expect(story.lines).toEqual(["add default/a@7", "add default/b@3", "add default/c@10"]);
    stream.end();
    expect((await server.next("GET", WATCH)).query.get("resourceVersion")).toBe("10");
  });

  test("swaps the store when it is repeated after 410, and tells of deletions that were missed", async () => {
    const informer = start();
    const first = (await server.next("GET", STREAM)).open();
    first.event("ADDED", configMap("a", "5")).event("BOOKMARK", end("9"));
    await informer.whenSynced();
    first.event("ERROR", statusObject(410, "Expired"));
    const second = (await server.next("GET", STREAM)).open();
    second.event("ADDED", configMap("b", "20"));
    expect(informer.list().map((object) => object.metadata.name)).toEqual(["a"]);
    second.event("BOOKMARK", end("30"));
    await told("add default/b@20");
    expect(story.lines).toEqual(["add default/a@5", "missed-delete default/a@5", "add default/b@20"]);
  });

  test("that is refused is replaced by a list at once and for good", async () => {
    start();
    (await server.next("GET", STREAM)).status(422, "Invalid", "sendInitialEvents is forbidden for watch");
    (await server.next("GET", LIST)).list([configMap("a", "5")], "10");
    (await server.next("GET", WATCH)).status(410, "Expired");
    await server.next("GET", LIST);
  });

  test("that ends before its end mark came from a server that does not know it: list", async () => {
    start();
    (await server.next("GET", STREAM)).open().event("ADDED", configMap("a", "5")).end();
    (await server.next("GET", LIST)).list([configMap("a", "5")], "10");
    await told("add default/a@5");
  });

  test("with an ordinary bookmark in place of its end: list", async () => {
    start();
    (await server.next("GET", STREAM)).open().event("ADDED", configMap("a", "5")).bookmark("9");
    await server.next("GET", LIST);
  });

  test("with nothing at all for a while: list", async () => {
    start({ rules: { initialQuietMs: 50 } });
    (await server.next("GET", STREAM)).open();
    await server.next("GET", LIST);
  });

  test("that breaks is tried again, then a list", async () => {
    start();
    await (await server.next("GET", STREAM)).open().event("ADDED", configMap("a", "5")).reset();
    await (await server.next("GET", STREAM)).open().event("ADDED", configMap("a", "5")).reset();
    (await server.next("GET", LIST)).list([configMap("b", "6")], "10");
    await told("add default/b@6");
    expect(story.lines).toEqual(["add default/b@6"]);
  });

  test("of a resource that is absent counts as empty where that is allowed", async () => {
    const informer = start({ absentIsEmpty: true });
    (await server.next("GET", STREAM)).answer(404, "404 page not found\n", { "content-type": "text/plain" });
    await informer.whenSynced();
    const stream = (await server.next("GET", STREAM)).open();
    stream.event("ADDED", configMap("a", "5")).event("BOOKMARK", end("9"));
    await told("add default/a@5");
  });
});
