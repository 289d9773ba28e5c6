/**
 * What the informer of client-node does where `known-faults.test.ts` says what ours does: the same scenes, played to it.
 * docs/kube-runtime.md has both side by side; whoever moves to another client-node learns here what has changed.
 */
import { CoreV1Api, KubeConfig, ListWatch, type V1ConfigMap, Watch } from "@kubernetes/client-node";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { settle } from "../support/manual-clock.ts";
import { configMap } from "../support/objects.ts";
import { type Exchange, ScriptedServer, statusObject } from "../support/scripted-server.ts";

const PATH = "/api/v1/configmaps";
const LIST = /configmaps(\?limit=1000)?$/;
const WATCH = /configmaps\?watch=true/;

/** What would be a rejection that nobody handles, which ends a process. */
class OverheardWatch extends Watch {
  readonly unhandled: unknown[] = [];

  override watch(...[path, params, callback, done]: Parameters<Watch["watch"]>): ReturnType<Watch["watch"]> {
    const overheard = (type: string, object: unknown, event: unknown): void => {
      const handled: unknown = callback(type, object, event);
      Promise.resolve(handled).catch((error) => this.unhandled.push(error));
    };
    return super.watch(path, params, overheard, done);
  }
}

let server: ScriptedServer;
let watching: OverheardWatch;
let informer: ListWatch<V1ConfigMap>;
let lines: string[];
/** Waits before it watches again, in ms; none of them is waited for. */
let delays: number[];

beforeEach(async () => {
  server = await ScriptedServer.start();
  const config = new KubeConfig();
  const caData = Buffer.from(server.ca).toString("base64");
  config.loadFromClusterAndUser(
    { name: "scripted", server: server.url, caData, skipTLSVerify: false },
    { name: "nobody" },
  );
  const api = config.makeApiClient(CoreV1Api);
  watching = new OverheardWatch(config);
  delays = [];
  const delayFn = async (ms: number) => void delays.push(ms);
  const list = () => api.listConfigMapForAllNamespaces();
  informer = new ListWatch(PATH, watching, list, false, "a=b", undefined, { delayFn });
  lines = [];
  for (const verb of ["add", "update", "delete"] as const) {
    informer.on(verb, ({ metadata }) => lines.push(`${verb} ${metadata?.name}@${metadata?.resourceVersion}`));
  }
  informer.on("error", (error) => lines.push(`error ${(error as { statusCode?: number }).statusCode ?? error}`));
});

afterEach(async () => {
  await informer.stop();
  await server[Symbol.asyncDispose]();
});

async function listed(items: readonly object[], resourceVersion: string): Promise<Exchange> {
  informer.start();
  (await server.next("GET", LIST)).list(items, resourceVersion);
  return (await server.next("GET", WATCH)).open();
}

const got = (line: string | RegExp) =>
  eventually(`got ${line}`, () => lines.some((one) => (typeof line === "string" ? one === line : line.test(one))));

test("1. drops the fields that its types do not know, of what it lists; not of what it watches", async () => {
  const odd = { ...configMap("a", "5"), spec: { new: 1 } };
  const watch = await listed([odd], "10");
  await got("add a@5");
  expect(informer.get("a", "default")).not.toHaveProperty("spec");
  watch.event("MODIFIED", { ...odd, metadata: { ...odd.metadata, resourceVersion: "11" } });
  await got("update a@11");
  expect(informer.get("a", "default")).toHaveProperty("spec", { new: 1 });
});

test("2. has a Date where it listed and a string where it watched", async () => {
  const creationTimestamp = "2026-01-02T03:04:05Z";
  const stamped = (name: string, version: string) => {
    const object = configMap(name, version);
    return { ...object, metadata: { ...object.metadata, creationTimestamp } };
  };
  (await listed([stamped("a", "5")], "10")).event("ADDED", stamped("b", "11"));
  await got("add b@11");
  const stamps = ["a", "b"].map((name) => informer.get(name, "default")?.metadata?.creationTimestamp);
  expect(stamps).toEqual([new Date(creationTimestamp), creationTimestamp]);
});

test("3. is over after a connection was reset", async () => {
  await (await listed([configMap("a", "5")], "10")).reset();
  await got(/^error /);
  await settle();
  expect([server.pending, delays]).toEqual([[], []]);
});

test("4. watches from where it was, but waits when a watch that was quiet ends in order", async () => {
  (await listed([configMap("a", "5")], "10")).end();
  const again = (await server.next("GET", WATCH)).open();
  expect([again.query.get("resourceVersion"), delays]).toEqual(["10", []]);
  again.end();
  (await server.next("GET", WATCH)).open().end();
  await server.next("GET", WATCH);
  expect(delays).toEqual([1_000, 2_000]);
});

test("5. asks for no bookmarks", async () => {
  expect((await listed([], "10")).query.has("allowWatchBookmarks")).toBe(false);
});

test("6. passes over errors inside the stream, and waits for its end after 410", async () => {
  const watch = await listed([configMap("a", "5")], "10");
  watch.event("ERROR", statusObject(500, "InternalError")).event("ERROR", statusObject(410, "Expired"));
  watch.event("ADDED", configMap("b", "11"));
  await got("add b@11");
  expect([lines, server.pending, watch.closed]).toEqual([["add a@5", "add b@11"], [], false]);
});

test("7. ends the process, and tells nobody else, when a handler throws", async () => {
  const late: string[] = [];
  informer.on("update", () => {
    throw new Error("a handler's own trouble");
  });
  informer.on("update", ({ metadata }) => late.push(metadata?.resourceVersion ?? ""));
  (await listed([configMap("a", "5")], "10")).event("MODIFIED", configMap("a", "11"));
  await eventually("the rejection", () => watching.unhandled.length > 0);
  expect([late, informer.latestResourceVersion()]).toEqual([[], "10"]);
});

test("8. says that it is connected before it has asked for anything, and has no word for synced", async () => {
  const seen: unknown[] = [];
  informer.on("connect", () => seen.push(server.connections));
  informer.start();
  expect(seen).toEqual([0]);
  (await server.next("GET", LIST)).list([], "10");
  await server.next("GET", WATCH);
  expect(seen).toEqual([0]);
});

test("9. selects what it watches; what it lists is the caller's own", async () => {
  informer.start();
  const list = await server.next("GET", LIST);
  list.list([], "10");
  const watch = await server.next("GET", WATCH);
  expect([list.query.get("labelSelector"), watch.query.get("labelSelector")]).toEqual([null, "a=b"]);
});
