import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { configMap } from "../support/objects.ts";
import { ScriptedServer } from "../support/scripted-server.ts";

const { configMaps } = RESOURCES;
const REF = { namespace: "default", name: "a" };

let server: ScriptedServer;
let metrics: Registry;
let client: KubeClient;

beforeEach(async () => {
  server = await ScriptedServer.start();
  metrics = new Registry();
  client = new KubeClient({ credentials: server.credentials(), random: () => 0, metrics });
});

afterEach(async () => {
  await client[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** The lines of one metric, its host label taken out. */
const lines = async (name: string) =>
  (await metrics.metrics())
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`))
    .map((line) => line.replace(/,?host="[^"]*"/, ""));

test("requests are counted by method and code, and repetitions by what led to them, under client-go's names", async () => {
  const creating = client.create(configMaps, configMap("a", "1"));
  (await server.next("POST")).status(429, "TooManyRequests", "slow down", { "retry-after": "0" });
  (await server.next("POST")).answer(201, configMap("a", "2"));
  await creating;
  const getting = client.get(configMaps, REF);
  await (await server.next("GET")).reset();
  (await server.next("GET")).answer(200, configMap("a", "2"));
  await getting;
  expect(await lines("rest_client_requests_total")).toEqual([
    'rest_client_requests_total{method="POST",code="429"} 1',
    'rest_client_requests_total{method="POST",code="201"} 1',
    'rest_client_requests_total{method="GET",code="<error>"} 1',
    'rest_client_requests_total{method="GET",code="200"} 1',
  ]);
  expect(await lines("rest_client_request_retries_total")).toEqual([
    'rest_client_request_retries_total{verb="POST",code="429"} 1',
    'rest_client_request_retries_total{verb="GET",code="<error>"} 1',
  ]);
  expect(await lines("rest_client_request_duration_seconds_count")).toContain(
    'rest_client_request_duration_seconds_count{verb="POST"} 2',
  );
});

test("a watch is counted when it opens, apart from other reads, and clients of one process share the metrics", async () => {
  const other = new KubeClient({ credentials: server.credentials(), metrics });
  const stop = new AbortController();
  const watching = other.watch(configMaps, { signal: stop.signal }).next();
  (await server.next("GET")).open().event("ADDED", configMap("a", "1"));
  await watching;
  expect(await lines("rest_client_requests_total")).toEqual([
    'rest_client_requests_total{method="WATCH",code="200"} 1',
  ]);
  await other[Symbol.asyncDispose]();
});

test("calls under way and the time calls waited for their turn are shown", async () => {
  client = new KubeClient({ credentials: server.credentials(), metrics, maxInFlight: 1 });
  const calls = [client.get(configMaps, REF), client.get(configMaps, REF)];
  const first = await server.next("GET");
  expect(await lines("rest_client_requests_in_flight")).toEqual(["rest_client_requests_in_flight{} 1"]);
  first.answer(200, configMap("a", "1"));
  (await server.next("GET")).answer(200, configMap("a", "1"));
  await Promise.all(calls);
  expect(await lines("rest_client_requests_in_flight")).toEqual(["rest_client_requests_in_flight{} 0"]);
  expect(await lines("rest_client_rate_limiter_duration_seconds_count")).toEqual([
    'rest_client_rate_limiter_duration_seconds_count{verb="GET"} 2',
  ]);
});
