import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { forEachTest, got, LIST, server, start, synced, WATCH, WHOLE_LIST } from "../support/informer-harness.ts";
import { configMap } from "../support/objects.ts";

forEachTest();

const WHOLE = { rules: { wholeList: true } };
const METADATA = { resourceVersion: "10" };

test("all objects come by one request that asks for compression", async () => {
  const informer = start(WHOLE);
  const list = await server.next("GET", WHOLE_LIST);
  expect(list.headers["accept-encoding"]).toBe("gzip");
  const items = Array.from({ length: 2_000 }, (_, index) => configMap(`n${index}`, String(index)));
  list.answer(200, gzipSync(JSON.stringify({ metadata: METADATA, items })), { "content-encoding": "gzip" });
  await informer.whenSynced();
  expect(informer.list()).toEqual(items);
  expect((await server.next("GET", WATCH)).query.get("resourceVersion")).toBe("10");
});

test("nothing is told before the list is complete; one that breaks is asked for page by page", async () => {
  const informer = start(WHOLE);
  const list = (await server.next("GET", WHOLE_LIST)).open();
  const [first, second] = [configMap("a", "5"), configMap("b", "6")].map((object) => JSON.stringify(object));
  await list.write(`{"items":[${first},${second?.slice(0, 10)}`).reset();
  const pages = await server.next("GET", LIST);
  expect(informer.hasSynced).toBe(false);
  expect(informer.list()).toEqual([]);
  pages.list([configMap("a", "5")], "10");
  await got("add default/a@5");
});

test("after trouble is over a new list comes in one piece again", async () => {
  start(WHOLE);
  (await server.next("GET", WHOLE_LIST)).status(500, "InternalError");
  const watch = await synced();
  watch.event("ADDED", configMap("b", "11")).event("ERROR", { kind: "Status", code: 410, reason: "Expired" });
  (await server.next("GET", WHOLE_LIST)).list([configMap("b", "11")], "12");
  await got("missed-delete default/a@5");
});
