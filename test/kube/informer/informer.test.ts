import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import type { ConfigMap } from "../../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { Informer } from "../../../src/kube/informer/informer.ts";
import { eventually } from "../../support/eventually.ts";
import { HandlerRecorder } from "../support/handler-recorder.ts";
import {
  BY_PAGES,
  client,
  forEachTest,
  got,
  LIST,
  recorder,
  replaceServer,
  server,
  start,
  stop,
  synced,
  WATCH,
} from "../support/informer-harness.ts";
import { configMap } from "../support/objects.ts";
import { ScriptedServer, statusObject } from "../support/scripted-server.ts";

forEachTest();

describe("in good weather", () => {
  test("lists page by page, then watches from the list's version with bookmarks", async () => {
    const informer = start();
    (await server.next("GET", LIST)).list([configMap("a", "5")], "10", "token/1");
    expect(informer.hasSynced).toBe(false);
    (await server.next("GET", /limit=500&continue=token%2F1$/)).list([configMap("b", "6")], "10");
    const watch = (await server.next("GET", WATCH)).open();
    await informer.whenSynced();
    expect(watch.query.get("resourceVersion")).toBe("10");
    expect(watch.query.get("allowWatchBookmarks")).toBe("true");
    const timeoutSeconds = Number(watch.query.get("timeoutSeconds"));
    expect(timeoutSeconds).toBeGreaterThanOrEqual(300);
    expect(timeoutSeconds).toBeLessThanOrEqual(600);
    watch
      .event("ADDED", configMap("c", "11"))
      .event("MODIFIED", configMap("a", "12"))
      .event("DELETED", configMap("b", "13"));
    await got("delete default/b@13");
    expect(recorder.lines).toEqual([
      "add default/a@5",
      "add default/b@6",
      "add default/c@11",
      "update default/a@12",
      "delete default/b@13",
    ]);
    expect(informer.list().map((object) => object.metadata.name)).toEqual(["a", "c"]);
    expect(informer.get("default/a")?.data).toEqual({ value: "12" });
  });

  test("watches again from the last bookmark when the server ends the watch", async () => {
    start();
    const watch = await synced();
    watch.event("ADDED", configMap("b", "11")).bookmark("77").end();
    const again = (await server.next("GET", WATCH)).open();
    expect(again.query.get("resourceVersion")).toBe("77");
    expect(recorder.lines).toEqual(["add default/a@5", "add default/b@11"]);
  });

  test("a handler that comes later is told of what is there", async () => {
    const informer = start();
    await synced();
    await informer.whenSynced();
    const late = new HandlerRecorder<ConfigMap>();
    const leave = informer.on(late);
    expect(late.lines).toEqual(["add default/a@5"]);
    leave();
  });

  test("items of a list carry apiVersion and kind, and no managedFields unless asked", async () => {
    const informer = start();
    (await server.next("GET", LIST)).list(
      [
        {
          metadata: { namespace: "default", name: "a", managedFields: [{ manager: "x" }] },
          unknownField: { kept: [1] },
        },
      ],
      "10",
    );
    await informer.whenSynced();
    expect(informer.get("default/a")).toEqual({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: "default", name: "a" },
      unknownField: { kept: [1] },
    });
  });

  test("indexes follow changes", async () => {
    const informer = start({ indexers: { value: (object) => [object.data?.value ?? ""] } });
    const watch = await synced([configMap("a", "5", { data: "red" }), configMap("b", "6", { data: "red" })]);
    await informer.whenSynced();
    expect(informer.byIndex("value", "red")).toHaveLength(2);
    watch
      .event("MODIFIED", configMap("a", "11", { data: "blue" }))
      .event("DELETED", configMap("b", "12", { data: "red" }));
    await got("delete default/b@12");
    expect(informer.byIndex("value", "red")).toEqual([]);
    expect(informer.byIndex("value", "blue").map((object) => object.metadata.name)).toEqual(["a"]);
    expect(() => informer.byIndex("colour", "red")).toThrow('There is no index "colour"; known: value.');
  });
});

describe("410", () => {
  test("by status: lists anew, swaps, and tells of deletions that were missed", async () => {
    const informer = start();
    const watch = await synced([configMap("a", "5"), configMap("b", "6")]);
    watch.end();
    (await server.next("GET", WATCH)).status(410, "Expired", "too old resource version: 10 (99)");
    (await server.next("GET", LIST)).list([configMap("b", "90"), configMap("c", "91")], "100");
    const again = await server.next("GET", WATCH);
    expect(again.query.get("resourceVersion")).toBe("100");
    expect(recorder.lines.slice(2)).toEqual(["missed-delete default/a@5", "update default/b@90", "add default/c@91"]);
    expect(informer.list()).toHaveLength(2);
  });

  test("in the stream: the same", async () => {
    start();
    const watch = await synced([configMap("a", "5")]);
    watch.event("ERROR", statusObject(410, "Expired"));
    (await server.next("GET", LIST)).list([], "100");
    await server.next("GET", WATCH);
    expect(recorder.lines).toEqual(["add default/a@5", "missed-delete default/a@5"]);
  });

  test("of a continue token: the list starts over in one piece, and nothing of the first try is seen", async () => {
    const informer = start();
    (await server.next("GET", LIST)).list([configMap("a", "5")], "10", "t1");
    (await server.next("GET", /continue=t1/)).status(410, "Expired", "The provided continue parameter is too old");
    expect(informer.hasSynced).toBe(false);
    (await server.next("GET", /configmaps\?limit=0$/)).list([configMap("b", "20")], "30");
    await server.next("GET", WATCH);
    expect(recorder.lines).toEqual(["add default/b@20"]);
  });

  test("keeps the store readable and whole until the new list is complete", async () => {
    const informer = start();
    (await synced([configMap("a", "5")])).event("ERROR", statusObject(410, "Expired"));
    (await server.next("GET", LIST)).list([configMap("b", "20")], "30", "more");
    const rest = await server.next("GET", /continue=more/);
    expect(informer.hasSynced).toBe(true);
    expect(informer.list().map((object) => object.metadata.name)).toEqual(["a"]);
    rest.list([configMap("c", "21")], "30");
    await got("add default/c@21");
    expect(informer.list().map((object) => object.metadata.name)).toEqual(["b", "c"]);
  });
});

describe("odd but valid streams", () => {
  test("an event that came already is told once", async () => {
    start();
    const watch = await synced();
    watch.event("ADDED", configMap("a", "5")).event("ADDED", configMap("b", "11")).event("ADDED", configMap("b", "11"));
    watch.event("ADDED", configMap("c", "12"));
    await got("add default/c@12");
    expect(recorder.lines).toEqual(["add default/a@5", "add default/b@11", "add default/c@12"]);
  });

  test("a name with a new uid is a deletion and an addition", async () => {
    start();
    (await synced()).event("MODIFIED", configMap("a", "11", { uid: "other" }));
    await got("add default/a@11");
    expect(recorder.lines).toEqual(["add default/a@5", "missed-delete default/a@5", "add default/a@11"]);
    expect(recorder.contradictions).toEqual([]);
  });

  test("tells which additions are creations, and when everything was listed", async () => {
    const informer = start();
    const lines: string[] = [];
    informer.on({
      onRelist: () => lines.push("listed"),
      add: ({ metadata: { name } }, { created }) => lines.push(`${created ? "created" : "found"} ${name}`),
    });
    const watch = await synced();
    watch.event("ADDED", configMap("b", "11")).event("MODIFIED", configMap("c", "12"));
    await eventually("c has come", () => lines.includes("found c"));
    expect(lines).toEqual(["listed", "found a", "created b", "found c"]);
  });

  test("DELETED of something unknown tells nothing", async () => {
    start();
    (await synced()).event("DELETED", configMap("z", "11")).event("ADDED", configMap("b", "12"));
    await got("add default/b@12");
    expect(recorder.lines).toEqual(["add default/a@5", "add default/b@12"]);
  });

  test("an object of 10 MB arrives whole", async () => {
    const informer = start();
    const data = "x".repeat(10 * 1024 * 1024);
    (await synced()).event("ADDED", configMap("big", "11", { data }));
    await got("add default/big@11");
    expect(informer.get("default/big")?.data?.value?.length).toBe(data.length);
  });

  test("characters cut by a chunk boundary stay whole", async () => {
    const informer = start();
    const watch = await synced();
    const line = Buffer.from(`${JSON.stringify({ type: "ADDED", object: configMap("u", "11", { data: "ä€😀" }) })}\n`);
    for (let index = 0; index < line.length; index += 3) {
      watch.write(line.subarray(index, index + 3) as unknown as string);
    }
    await got("add default/u@11");
    expect(informer.get("default/u")?.data?.value).toBe("ä€😀");
  });
});

describe("an absent resource", () => {
  test("counts as synced and empty, and is picked up when it comes", async () => {
    const informer = start({ absentIsEmpty: true });
    (await server.next("GET", LIST)).answer(404, "404 page not found\n", { "content-type": "text/plain" });
    await informer.whenSynced();
    expect(informer.list()).toEqual([]);
    (await server.next("GET", LIST)).answer(404, "404 page not found\n", { "content-type": "text/plain" });
    await synced([configMap("a", "5")]);
    expect(recorder.lines).toEqual(["add default/a@5"]);
  });

  test("that goes away while watched is emptied and told", async () => {
    start({ absentIsEmpty: true });
    (await synced()).end();
    (await server.next("GET", WATCH)).answer(404, "404 page not found\n", { "content-type": "text/plain" });
    await got("missed-delete default/a@5");
    await server.next("GET", LIST);
  });

  test("is an error that is tried again where it must be there", async () => {
    const informer = start();
    (await server.next("GET", LIST)).answer(404, "404 page not found\n");
    await server.next("GET", LIST);
    expect(informer.hasSynced).toBe(false);
  });
});

describe("handlers and stopping", () => {
  test("handlers that throw or reject stop neither the others nor the informer", async () => {
    const informer = new Informer({
      client,
      resource: RESOURCES.configMaps,
      metrics: new Registry(),
      rules: BY_PAGES,
    });
    informer.on({
      add() {
        throw new Error("add");
      },
      update: async () => {
        throw new Error("update");
      },
    });
    informer.on(recorder);
    informer.start(stop.signal);
    const watch = await synced();
    watch.event("MODIFIED", configMap("a", "11")).event("DELETED", configMap("a", "12"));
    await got("delete default/a@12");
    expect(recorder.lines).toEqual(["add default/a@5", "update default/a@11", "delete default/a@12"]);
  });

  test("stopping closes the watch and ends run", async () => {
    const informer = new Informer({
      client,
      resource: RESOURCES.configMaps,
      metrics: new Registry(),
      rules: BY_PAGES,
    });
    const running = informer.run(stop.signal);
    const watch = await synced();
    stop.abort();
    await running;
    await eventually("the watch is closed", () => watch.closed);
  });

  test("stopping before the first list rejects those who wait for it", async () => {
    const informer = start();
    const waiting = informer.whenSynced();
    await server.next("GET", LIST);
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
  });

  test("whenSynced gives up with its own signal", async () => {
    const informer = start();
    await expect(informer.whenSynced(AbortSignal.timeout(1))).rejects.toThrow("timeout");
  });

  test("an API server that is down at the start is waited for", async () => {
    const url = server.url;
    await server[Symbol.asyncDispose]();
    const informer = start();
    await expect(informer.whenSynced(AbortSignal.timeout(100))).rejects.toThrow();
    expect(informer.hasSynced, url).toBe(false);
    stop.abort();
    replaceServer(await ScriptedServer.start());
  });
});
