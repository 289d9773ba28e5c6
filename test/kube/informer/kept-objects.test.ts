import { describe, expect, test } from "vitest";
import type { ConfigMap } from "../../../src/kube/client/built-in-kinds.ts";
import { eventually } from "../../support/eventually.ts";
import { forEachTest, got, recorder, server, start, synced, WATCH, WHOLE_LIST } from "../support/informer-harness.ts";
import { configMap } from "../support/objects.ts";

forEachTest();

describe("an informer that keeps some objects", () => {
  const keep = ({ data }: ConfigMap): boolean => data?.value === "red";

  test("knows an object as long as it is one of them", async () => {
    const informer = start({ keep });
    const watch = await synced([configMap("a", "5", { data: "red" }), configMap("b", "6", { data: "blue" })]);
    watch
      .event("MODIFIED", configMap("b", "11", { data: "red" }))
      .event("MODIFIED", configMap("a", "12", { data: "blue" }))
      .event("ADDED", configMap("c", "13", { data: "blue" }))
      .event("DELETED", configMap("c", "14", { data: "blue" }))
      .event("MODIFIED", configMap("b", "15", { data: "red" }));
    await got("update default/b@15");
    expect(recorder.lines).toEqual([
      "add default/a@5",
      "add default/b@11",
      "missed-delete default/a@5",
      "update default/b@15",
    ]);
    expect(informer.list().map(({ metadata }) => metadata.name)).toEqual(["b"]);
  });

  test("goes on after its last event, whether it kept that object or not", async () => {
    start({ keep });
    const watch = await synced([configMap("a", "5", { data: "red" })]);
    watch.event("ADDED", configMap("c", "13", { data: "blue" })).end();
    expect((await server.next("GET", WATCH)).query.get("resourceVersion")).toBe("13");
  });

  test("drops the others from a list in one piece", async () => {
    const informer = start({ keep, rules: { wholeList: true } });
    const items = [configMap("a", "5", { data: "red" }), configMap("b", "6", { data: "blue" })];
    (await server.next("GET", WHOLE_LIST)).list(items, "10");
    await informer.whenSynced();
    expect(informer.list()).toEqual([items[0]]);
  });
});

describe("an informer with a selector", () => {
  test.each([{ labelSelector: "tier=web" }, { fieldSelector: "type=Opaque" }])(
    "what begins to match %o is no creation, because the watch tells of both alike",
    async (selector) => {
      const informer = start(selector);
      const found: [string | undefined, boolean][] = [];
      informer.on({ add: ({ metadata: { name } }, { created }) => found.push([name, created]) });
      (await server.next("GET", /limit=500/)).list([configMap("a", "5")], "10");
      (await server.next("GET", /watch=true/)).open().event("ADDED", configMap("b", "11"));
      await eventually("b has come", () => found.length === 2);
      expect(found).toEqual([
        ["a", false],
        ["b", false],
      ]);
    },
  );
});
