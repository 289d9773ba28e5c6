import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ConfigMap } from "../../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { Informer } from "../../../src/kube/informer/informer.ts";
import { client } from "../../support/api-server-harness.ts";
import { eventually } from "../../support/eventually.ts";
import { HandlerRecorder } from "../support/handler-recorder.ts";
import { installWidgets, removeWidgets, WIDGETS, type Widget } from "../support/real-api-server.ts";

const { configMaps } = RESOURCES;
const namespace = "default";

let stop: AbortController;

beforeEach(() => {
  stop = new AbortController();
});

afterEach(() => stop.abort());

describe("against a real API server", () => {
  test("a kind that does not exist yet is synced and empty, and picked up live; gone again, it is empty", async () => {
    const informer = new Informer({
      client,
      resource: WIDGETS,
      metrics: new Registry(),
      absentIsEmpty: true,
      rules: { absentRetryMs: 100 },
    });
    const recorder = new HandlerRecorder<Widget>();
    informer.on(recorder);
    informer.start(stop.signal);
    await informer.whenSynced();
    expect(informer.list()).toEqual([]);
    await installWidgets(client);
    const ref = { namespace, name: "late" };
    await client.create(WIDGETS, { metadata: ref, spec: { size: 1 } });
    await eventually("the late widget", () => informer.get("default/late"));
    await removeWidgets(client);
    await eventually("it is gone", () => informer.list().length === 0);
    await installWidgets(client);
    await client.create(WIDGETS, { metadata: ref, spec: { size: 2 } });
    expect(await eventually("it is back", () => informer.get("default/late"))).toMatchObject({ spec: { size: 2 } });
    expect(recorder.contradictions).toEqual([]);
  });

  test("the server ending watches all the time loses nothing", async () => {
    const informer = new Informer({
      client,
      metrics: new Registry(),
      resource: configMaps,
      namespace,
      labelSelector: "suite=short",
      rules: { watchTimeoutSeconds: { min: 1, max: 1 }, shortWatchMs: 100 },
    });
    const recorder = new HandlerRecorder<ConfigMap>();
    informer.on(recorder);
    informer.start(stop.signal);
    await informer.whenSynced();
    const ref = { namespace, name: "counter" };
    await client.create(configMaps, { metadata: { ...ref, labels: { suite: "short" } }, data: { value: "0" } });
    const endMs = Date.now() + 3_500;
    let value = 0;
    while (Date.now() < endMs) {
      await client.patch(configMaps, ref, { type: "merge", body: { data: { value: String(++value) } } });
    }
    await eventually("the last value", () => informer.get("default/counter")?.data?.value === String(value));
    expect(recorder.lines).toHaveLength(value + 1);
    expect(recorder.contradictions).toEqual([]);
  });
});
