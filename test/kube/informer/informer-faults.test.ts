import { describe, expect, test } from "vitest";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { eventually } from "../../support/eventually.ts";
import {
  client,
  forEachTest,
  got,
  LIST,
  recorder,
  replaceClient,
  server,
  start,
  synced,
  WATCH,
} from "../support/informer-harness.ts";
import { configMap } from "../support/objects.ts";
import { statusObject } from "../support/scripted-server.ts";

forEachTest();

describe("a connection that breaks", () => {
  test("before the headers of the watch: lists, since the API server may have been down", async () => {
    start();
    (await server.next("GET", LIST)).list([configMap("a", "5")], "10");
    await (await server.next("GET", WATCH)).reset();
    (await server.next("GET", LIST)).list([configMap("a", "5")], "10");
    expect((await server.next("GET", WATCH)).query.get("resourceVersion")).toBe("10");
    expect(recorder.lines).toEqual(["add default/a@5"]);
  });

  test("in the middle of a line: the half event is dropped and comes again", async () => {
    start();
    const watch = await synced();
    const half = JSON.stringify({ type: "ADDED", object: configMap("b", "12") }).slice(0, 40);
    await watch.event("ADDED", configMap("x", "11")).write(half).reset();
    const again = (await server.next("GET", WATCH)).open();
    expect(["10", "11"]).toContain(again.query.get("resourceVersion"));
    again.event("ADDED", configMap("b", "12"));
    await got("add default/b@12");
  });

  test("between events, many times over: nothing is lost and no list is needed", async () => {
    start();
    let watch = await synced();
    for (let version = 11; version < 31; version++) {
      watch.event("MODIFIED", configMap("a", String(version)));
      await got(`update default/a@${version}`);
      await watch.reset();
      watch = (await server.next("GET", WATCH)).open();
      expect(watch.query.get("resourceVersion")).toBe(String(version));
    }
    expect(recorder.lines).toHaveLength(21);
  });

  test("by an orderly end in the middle of a line counts as broken", async () => {
    start();
    const watch = await synced();
    watch.write('{"type":"ADDED","object":{"metadata":{"name":"b"').end();
    expect((await server.next("GET", WATCH)).query.get("resourceVersion")).toBe("10");
    expect(recorder.lines).toEqual(["add default/a@5"]);
  });

  test("by silence: the watch is given up and opened again", async () => {
    start();
    const watch = await synced();
    const again = await server.next("GET", WATCH);
    expect(again.query.get("resourceVersion")).toBe("10");
    await eventually("the silent watch is closed", () => watch.closed);
  });

  test("before the first list is answered: lists again", async () => {
    const informer = start();
    await (await server.next("GET", LIST)).reset();
    await (await server.next("GET", LIST)).reset();
    await (await server.next("GET", LIST)).reset();
    await synced();
    await informer.whenSynced();
  });

  test("for good: after several watches in vain it lists, in case the version is the trouble", async () => {
    start({ rules: { maxWatchFailures: 3 } });
    (await server.next("GET", LIST)).list([configMap("a", "5")], "10");
    for (let attempt = 0; attempt < 3; attempt++) {
      await (await server.next("GET", WATCH)).open().reset();
    }
    (await server.next("GET", LIST)).list([configMap("a", "5")], "12");
    expect((await server.next("GET", WATCH)).query.get("resourceVersion")).toBe("12");
  });

  test("while etcd is restored: says so, tells of nothing more and ends, for another one to take the older list", async () => {
    const said: string[] = [];
    await client[Symbol.asyncDispose]();
    replaceClient(new KubeClient({ credentials: server.credentials(), onRestored: (sentence) => said.push(sentence) }));
    const stopped = start().whenSynced();
    const first = await synced();
    await stopped;
    first.event("MODIFIED", configMap("a", "11")).event("ADDED", configMap("b", "12"));
    await got("add default/b@12");
    await first.reset();
    await (await server.next("GET", WATCH)).reset();
    (await server.next("GET", LIST)).list([configMap("a", "11")], "11");
    await expect
      .poll(() => said)
      .toEqual([expect.stringMatching(/^the API server's list of configmaps is older than it was, /)]);
    expect(recorder.lines).toEqual(["add default/a@5", "update default/a@11", "add default/b@12"]);
    start();
    await synced([configMap("a", "11")], "11");
    await got("add default/a@11");
    expect(said).toHaveLength(1);
  });

  test("or not, when a list is asked for: ends the watch and lists", async () => {
    const informer = start();
    const first = await synced();
    informer.retryNow(true);
    await eventually("the watch is closed", () => first.closed);
    (await server.next("GET", LIST)).list([configMap("c", "12")], "13");
    await got("add default/c@12");
    expect((await server.next("GET", WATCH)).query.get("resourceVersion")).toBe("13");
  });
});

describe("answers that are errors", () => {
  test.each([
    [500, "InternalError"],
    [504, "Timeout"],
    [429, "TooManyRequests"],
  ])("%i in the stream: watches again from the last version", async (code, reason) => {
    start();
    const watch = await synced();
    watch.event("MODIFIED", configMap("a", "11")).event("ERROR", statusObject(code, reason));
    expect((await server.next("GET", WATCH)).query.get("resourceVersion")).toBe("11");
  });

  test("a line that is not JSON: watches again from the last version", async () => {
    start();
    (await synced()).event("MODIFIED", configMap("a", "11")).write("<html>502 Bad Gateway</html>\n");
    expect((await server.next("GET", WATCH)).query.get("resourceVersion")).toBe("11");
  });

  test("403 at the start: keeps asking until it is allowed", async () => {
    const informer = start();
    (await server.next("GET", LIST)).status(403, "Forbidden");
    (await server.next("GET", LIST)).status(403, "Forbidden");
    await synced();
    await informer.whenSynced();
  });

  test("a storm of 5xx ends in a synced informer", async () => {
    const informer = start();
    for (let attempt = 0; attempt < 8; attempt++) {
      (await server.next("GET", LIST)).status(attempt % 2 ? 503 : 500, "ServiceUnavailable");
    }
    await synced();
    await informer.whenSynced();
  });

  test("401 on the watch: asks with fresh credentials", async () => {
    const credentials = server.credentials(() => ({ authorization: `Bearer t${credentials.refreshed}` }));
    replaceClient(new KubeClient({ credentials }));
    start();
    const list = await server.next("GET", LIST);
    expect(list.headers.authorization).toBe("Bearer t0");
    list.list([], "10");
    (await server.next("GET", WATCH)).status(401, "Unauthorized");
    expect((await server.next("GET", WATCH)).headers.authorization).toBe("Bearer t1");
  });

  test("503: the informer says why it is not synced, and asks at once when there is a reason to", async () => {
    const hour = 3_600_000;
    const informer = start({ rules: { backoff: { baseMs: hour, maxMs: hour } } });
    (await server.next("GET", LIST)).status(503, "ServiceUnavailable");
    await eventually("it says why", () => informer.fault !== undefined);
    expect(informer.hasSynced).toBe(false);
    await eventually("it asks", () => {
      informer.retryNow();
      return server.pending.length > 0;
    });
    await synced();
    expect(informer.fault).toBeUndefined();
  });

  test("403 after a list: the informer says since when it is refused, until it lists again", async () => {
    const refusals: string[] = [];
    const informer = start({ onRefused: () => refusals.push(informer.fault ?? "") });
    const watch = await synced();
    watch.end();
    for (const request of [WATCH, LIST, LIST]) (await server.next("GET", request)).status(403, "Forbidden");
    await eventually("it was told", () => refusals.length === 2);
    expect(informer.refusedMs).toBeGreaterThan(0);
    expect(refusals[1]).toBe("Forbidden");
    expect(informer.list()).toHaveLength(1);
    await synced();
    expect(informer.refusedMs).toBe(0);
    expect(informer.fault).toBeUndefined();
  });

  test("404 and an API server that is away are no refusals", async () => {
    let refusals = 0;
    const informer = start({ absentIsEmpty: true, onRefused: () => refusals++ });
    (await server.next("GET", LIST)).status(404, "NotFound");
    await (await server.next("GET", LIST)).reset();
    await synced();
    expect([refusals, informer.refusedMs]).toEqual([0, 0]);
  });

  test("404: the kind is looked for at once when there is a reason to", async () => {
    const informer = start({ absentIsEmpty: true, rules: { absentRetryMs: 3_600_000 } });
    (await server.next("GET", LIST)).answer(404, "404 page not found\n", { "content-type": "text/plain" });
    await informer.whenSynced();
    await eventually("it asks", () => {
      informer.retryNow();
      return server.pending.length > 0;
    });
    await synced([configMap("a", "5")]);
    expect(informer.list()).toHaveLength(1);
  });
});
