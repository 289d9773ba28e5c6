/**
 * Nine things that informers of client-node do or did, each of which made a controller wrong. Each test fails with an
 * informer that does the same.
 */
import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ConfigMap } from "../../../src/kube/client/built-in-kinds.ts";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { Informer } from "../../../src/kube/informer/informer.ts";
import { eventually } from "../../support/eventually.ts";
import { HandlerRecorder } from "../support/handler-recorder.ts";
import { configMap } from "../support/objects.ts";
import { type Exchange, ScriptedServer, statusObject } from "../support/scripted-server.ts";

const LIST = /configmaps\?.*limit=500$/;
const WATCH = /configmaps\?.*watch=true/;

let server: ScriptedServer;
let client: KubeClient;
let stop: AbortController;
let informer: Informer<ConfigMap>;
let recorder: HandlerRecorder<ConfigMap>;

beforeEach(async () => {
  server = await ScriptedServer.start();
  client = new KubeClient({ credentials: server.credentials(), watchSilenceMs: 400 });
  stop = new AbortController();
  recorder = new HandlerRecorder();
  informer = new Informer({
    client,
    resource: RESOURCES.configMaps,
    labelSelector: "a=b",
    metrics: new Registry(),
    rules: { wholeList: false, backoff: { baseMs: 4, maxMs: 20 } },
  });
  informer.on(recorder);
});

afterEach(async () => {
  stop.abort();
  await client[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const listed = async (items: readonly object[], resourceVersion: string): Promise<Exchange> => {
  (await server.next("GET", LIST)).list(items, resourceVersion);
  return (await server.next("GET", WATCH)).open();
};
const got = (line: string) => eventually(`got "${line}"`, () => recorder.lines.includes(line));

test("1. fields that no type knows are kept, from the list and from the watch", async () => {
  informer.start(stop.signal);
  const odd = {
    ...configMap("a", "5"),
    spec: { new: { nested: [1] } },
    metadata: { ...configMap("a", "5").metadata, odd: 1 },
  };
  const watch = await listed([odd], "10");
  await informer.whenSynced();
  expect(informer.get("default/a")).toEqual(odd);
  watch.event("MODIFIED", { ...odd, metadata: { ...odd.metadata, resourceVersion: "11" }, more: true });
  await got("update default/a@11");
  expect(informer.get("default/a")).toMatchObject({ spec: { new: { nested: [1] } }, more: true, metadata: { odd: 1 } });
});

test("2. a timestamp is a string, whether it came by list or by watch", async () => {
  informer.start(stop.signal);
  const creationTimestamp = "2026-01-02T03:04:05Z";
  const stamped = (name: string, version: string) => {
    const object = configMap(name, version);
    return { ...object, metadata: { ...object.metadata, creationTimestamp } };
  };
  (await listed([stamped("a", "5")], "10")).event("ADDED", stamped("b", "11"));
  await got("add default/b@11");
  expect(informer.list().map((object) => object.metadata.creationTimestamp)).toEqual([
    creationTimestamp,
    creationTimestamp,
  ]);
});

test("3. it lives on after a connection was reset", async () => {
  informer.start(stop.signal);
  const first = await listed([], "10");
  first.event("ADDED", configMap("a", "11"));
  await got("add default/a@11");
  await first.reset();
  (await server.next("GET", WATCH)).open().event("MODIFIED", configMap("a", "12"));
  await got("update default/a@12");
});

test("4. there is no gap between two watches: the next one starts where the last one was", async () => {
  informer.start(stop.signal);
  (await listed([configMap("a", "5")], "10")).event("MODIFIED", configMap("a", "12")).end();
  const second = await server.next("GET", WATCH);
  expect(second.query.get("resourceVersion")).toBe("12");
  second.open().event("DELETED", configMap("a", "13"));
  await got("delete default/a@13");
});

test("5. bookmarks are asked for and used, so that a quiet kind need not be listed again", async () => {
  informer.start(stop.signal);
  const watch = await listed([], "10");
  expect(watch.query.get("allowWatchBookmarks")).toBe("true");
  watch.bookmark("9000").end();
  expect((await server.next("GET", WATCH)).query.get("resourceVersion")).toBe("9000");
});

test("6. an error inside the stream is an error: 410 lists again, though the connection stays open", async () => {
  informer.start(stop.signal);
  (await listed([configMap("a", "5")], "10")).event("ERROR", statusObject(410, "Expired"));
  await listed([configMap("b", "20")], "30");
  await got("add default/b@20");
  expect(recorder.lines).toContain("missed-delete default/a@5");
});

test("7. what a handler throws reaches neither the other handlers nor the stream", async () => {
  const broken = new Informer({
    client,
    resource: RESOURCES.configMaps,
    labelSelector: "a=b",
    metrics: new Registry(),
    rules: { wholeList: false },
  });
  broken.on({
    add() {
      throw new Error("a handler's own trouble");
    },
  });
  broken.on(recorder);
  broken.start(stop.signal);
  (await listed([configMap("a", "5")], "10")).event("ADDED", configMap("b", "11")).event("ADDED", configMap("c", "12"));
  await got("add default/c@12");
  expect(recorder.lines).toEqual(["add default/a@5", "add default/b@11", "add default/c@12"]);
});

test("8. it counts as synced when the objects are there, not when it begins to connect", async () => {
  informer.start(stop.signal);
  const list = await server.next("GET", LIST);
  expect(informer.hasSynced).toBe(false);
  list.list([configMap("a", "5")], "10");
  await informer.whenSynced();
  expect(informer.list()).toHaveLength(1);
  expect(recorder.lines).toEqual(["add default/a@5"]);
});

test("9. list and watch ask for the same objects: one selection is used for both", async () => {
  informer.start(stop.signal);
  const list = await server.next("GET", LIST);
  list.list([], "10");
  const watch = await server.next("GET", WATCH);
  expect([list.query.get("labelSelector"), watch.query.get("labelSelector")]).toEqual(["a=b", "a=b"]);
});
