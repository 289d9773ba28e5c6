import { Registry } from "prom-client";
import { beforeEach, describe, expect, it } from "vitest";
import { silentLog } from "../../src/kube/log.ts";
import { NetworkCatalog } from "../../src/linux-bridge-webhook/network-catalog.ts";
import { client, forEachTest, server } from "../kube/support/client-harness.ts";
import { statusObject } from "../kube/support/scripted-server.ts";
import { eventually } from "../support/eventually.ts";

forEachTest();

/** As in a flood of pods whose networks do not exist. */
const FLOOD = 100;

describe("the catalog of networks, before its watch has delivered anything", () => {
  let catalog: NetworkCatalog;
  const { signal } = new AbortController();

  beforeEach(() => {
    catalog = new NetworkCatalog({ client, log: silentLog, metrics: new Registry() });
  });

  const missing = (name: string) => ({
    ...statusObject(404, "NotFound", `"${name}" not found`),
    details: { name, group: "k8s.cni.cncf.io", kind: "network-attachment-definitions" },
  });

  it("asks the API server for one network, and takes the annotations that matter", async () => {
    const found = catalog.find({ namespace: "team", name: "br1" }, "team", signal);
    const exchange = await server.next("GET", "/apis/k8s.cni.cncf.io/v1/namespaces/team/");
    const metadata = { namespace: "team", name: "br1", annotations: { "k8s.v1.cni.cncf.io/resourceName": "a/b" } };
    exchange.answer(200, { metadata, spec: { config: "{}" } });
    expect(await found).toEqual({ kind: "found", annotations: metadata.annotations });
  });

  it("tells a network that is missing from a cluster that has none", async () => {
    const first = catalog.find({ namespace: "team", name: "br1" }, "team", signal);
    (await server.next("GET")).answer(404, missing("br1"));
    expect(await first).toEqual({ kind: "missing" });
    const second = catalog.find({ namespace: "team", name: "br1" }, "team", signal);
    (await server.next("GET")).answer(404, "404 page not found");
    expect(await second).toEqual({ kind: "unsupported" });
  });

  it.each([
    ["team", "../../../secrets/x"],
    ["team", ".."],
    ["team", "br1?watch=true"],
    ["team", ""],
    ["..", "br1"],
    ["Team", "br1"],
    ["team", "b".repeat(254)],
    ["a".repeat(64), "br1"],
  ])("asks nothing about %s/%s, which no object is called", (namespace, name) => {
    expect(catalog.cached({ namespace, name })).toEqual({ kind: "missing" });
  });

  it("asks four questions at once for a namespace, whatever its pods name, and one of another at once", async () => {
    const flood = Array.from({ length: FLOOD }, (_, index) =>
      catalog.find({ namespace: "greedy", name: `n${index}` }, "greedy", signal),
    );
    const honest = catalog.find({ namespace: "team", name: "br1" }, "team", signal);
    await eventually("the first questions", () => server.pending.length === 5);
    const paths = server.pending.map(({ path }) => path);
    expect(paths.filter((path) => path.includes("/greedy/"))).toHaveLength(4);
    expect(paths.filter((path) => path.includes("/team/"))).toHaveLength(1);
    let answered = 0;
    while (answered < FLOOD + 1) {
      await eventually("the next question", () => server.pending.length > 0);
      expect(server.pending.length).toBeLessThanOrEqual(5);
      for (const exchange of server.takeAll()) {
        exchange.answer(404, missing("any"));
        answered += 1;
      }
    }
    expect(await honest).toEqual({ kind: "missing" });
    expect(new Set((await Promise.all(flood)).map(({ kind }) => kind))).toEqual(new Set(["missing"]));
  });

  it("rejects when the API server refuses to answer, so that nobody takes the network for missing", async () => {
    const found = catalog.find({ namespace: "team", name: "br1" }, "team", signal);
    (await server.next("GET")).status(403, "Forbidden");
    await expect(found).rejects.toMatchObject({ status: 403 });
  });
});

it("keeps no annotation that is longer than a name of what it is about", async () => {
  const stop = new AbortController();
  const catalog = new NetworkCatalog({ client, log: silentLog, metrics: new Registry() });
  const run = catalog.run(stop.signal);
  const long = "x".repeat(250_000);
  const annotations = {
    "k8s.v1.cni.cncf.io/resourceName": ` ${" ".repeat(1_000)}a/b`,
    "k8s.v1.cni.cncf.io/nodeSelector": `rack=${long}`,
    other: long,
  };
  const items = [{ metadata: { namespace: "team", name: "br1", uid: "u", annotations }, spec: { config: "{}" } }];
  (await server.next("GET")).answer(200, { metadata: { resourceVersion: "1" }, items });
  await eventually("the list", () => catalog.synced);
  const known = catalog.cached({ namespace: "team", name: "br1" });
  expect(known).toMatchObject({ annotations: { "k8s.v1.cni.cncf.io/resourceName": "a/b" } });
  expect(JSON.stringify(known).length).toBeLessThan(1_000);
  stop.abort();
  await run.catch(() => {});
});
