import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { ConfigMap } from "../../../src/kube/client/built-in-kinds.ts";
import { mergeShards, shardSelectors } from "../../../src/kube/informer/sharded-list.ts";
import { eventually } from "../support/eventually.ts";
import { server, start, story, told, WATCH, WHOLE_LIST } from "../support/informer-bed.ts";
import { configMap } from "../support/objects.ts";
import type { Exchange } from "../support/scripted-server.ts";
import { describeObject } from "../support/story.ts";

const SHARDS = { label: "shard", values: [["0", "1"], ["2"]], minObjects: 3 };
const SELECTORS = ["shard in (0,1)", "shard in (2)", "shard notin (0,1,2)"];
const SURVEY = /^\/api\/v1\/configmaps\?limit=1$/;
const [a, b, c] = ["a", "b", "c"].map((name, index) => configMap(name, String(index + 5))) as [
  ConfigMap,
  ConfigMap,
  ConfigMap,
];

const startSharded = () => start({ shards: SHARDS, rules: { wholeList: true } });

/** Answers what comes before the shards. */
async function survey(remaining = 2): Promise<void> {
  const metadata = { resourceVersion: "10", continue: "token", remainingItemCount: remaining };
  (await server.next("GET", SURVEY)).answer(200, { items: [a], metadata });
}

/** The requests for the shards, in the order of SELECTORS. */
async function shards(): Promise<[Exchange, Exchange, Exchange]> {
  const requests = [await server.next("GET"), await server.next("GET"), await server.next("GET")];
  const selector = (request: Exchange) => SELECTORS.indexOf(request.query.get("labelSelector") ?? "");
  return requests.sort((one, other) => selector(one) - selector(other)) as [Exchange, Exchange, Exchange];
}

test("all shards are asked for at once and compressed, and the watch goes on from there", async () => {
  const informer = startSharded();
  await survey();
  const requests = await shards();
  expect(requests.map(({ query }) => Object.fromEntries(query))).toEqual(
    SELECTORS.map((labelSelector) => ({ labelSelector, limit: "0", resourceVersion: "10" })),
  );
  expect(requests.map(({ headers }) => headers["accept-encoding"])).toEqual(["gzip", "gzip", "gzip"]);
  const [first, second, third] = requests;
  third.answer(200, gzipSync(JSON.stringify({ items: [c], metadata: { resourceVersion: "10" } })), {
    "content-encoding": "gzip",
  });
  second.list([], "10");
  expect(informer.hasSynced).toBe(false);
  expect(informer.list()).toEqual([]);
  first.list([a, b], "10");
  await informer.whenSynced();
  expect(informer.list()).toEqual([a, b, c]);
  const watch = await server.next("GET", WATCH);
  expect(watch.query.get("resourceVersion")).toBe("10");
  expect(watch.query.get("labelSelector")).toBeNull();
});

test("the watch goes on from the oldest version of a shard, and old news change nothing", async () => {
  const informer = startSharded();
  await survey();
  const [first, second, third] = await shards();
  first.list([a], "13");
  second.list([configMap("b", "12", { uid: "new" })], "12");
  third.list([], "11");
  const watch = await server.next("GET", WATCH);
  expect(watch.query.get("resourceVersion")).toBe("11");
  watch
    .open()
    .event("DELETED", configMap("b", "11", { uid: "old" }))
    .event("ADDED", configMap("c", "13"));
  await told("add default/c@13");
  expect(informer.list().map(describeObject)).toEqual(["default/a@5", "default/b@12", "default/c@13"]);
  expect(story.lines.filter((line) => line.includes("delete"))).toEqual([]);
});

test("an object that is in two shards counts as it was last", () => {
  const [old, latest] = [configMap("a", "9"), configMap("a", "12")];
  const shard = (resourceVersion: string, ...items: ConfigMap[]) => ({ items, resourceVersion });
  expect(mergeShards([shard("9", old, b), shard("12", latest)])).toEqual(shard("9", latest, b));
  expect(mergeShards([shard("12", latest), shard("9", b, old)])).toEqual(shard("9", latest, b));
  expect(mergeShards([shard("100", a), shard("99", b), shard("100", c)])).toEqual(shard("99", a, b, c));
});

test("few objects come in one piece", async () => {
  startSharded();
  await survey(1);
  (await server.next("GET", "/api/v1/configmaps?limit=0&resourceVersion=10")).list([a, b], "10");
  await told("add default/b@6");
});

test("a shard that is refused ends the others; one list is asked for at once, and shards the next time", async () => {
  startSharded();
  await survey();
  const [first, second, third] = await shards();
  first.list([a], "10");
  second.status(410, "Expired");
  third.open();
  const whole = await server.next("GET", WHOLE_LIST);
  await eventually("the other shard is ended", () => third.closed);
  whole.list([a, b], "12");
  await told("add default/b@6");
  (await server.next("GET", WATCH)).open().event("ERROR", { kind: "Status", code: 410, reason: "Expired" });
  await survey();
  const again = await shards();
  for (const shard of again) shard.list(shard === again[1] ? [b] : [], "10");
  await told("missed-delete default/a@5");
});

test("a shard that breaks off leads to one list, and when that breaks off to pages", async () => {
  startSharded();
  await survey();
  const [first] = await shards();
  await first
    .open()
    .write(`{"items":[${JSON.stringify(a)},`)
    .reset();
  await (await server.next("GET", WHOLE_LIST)).open().reset();
  (await server.next("GET", /limit=500$/)).list([b], "11");
  await told("add default/b@6");
});

test("the selection of the informer is part of every shard", () => {
  expect(shardSelectors(SHARDS, "app=x")).toEqual(SELECTORS.map((shard) => `app=x,${shard}`));
});
