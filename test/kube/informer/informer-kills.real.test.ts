import { Registry } from "prom-client";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ApiError, ConnectionError } from "../../../src/kube/client/api-error.ts";
import type { ConfigMap } from "../../../src/kube/client/built-in-kinds.ts";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { Informer } from "../../../src/kube/informer/informer.ts";
import { type ControlPlane, startControlPlane } from "../../cluster/control-plane/control-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { type Fault, Front } from "../conformance/front.ts";
import { realBackend } from "../conformance/real-backend.ts";
import { describeObject, HandlerRecorder } from "../support/handler-recorder.ts";
import { adminClient } from "../support/real-api-server.ts";

const { configMaps } = RESOURCES;
const namespace = "default";
/** 20 for a whole proof; each costs some seconds of starting the API server. */
const KILLS = Number(process.env.KUBE_KILLS ?? 3);
/** More than the connection's own buffers hold. */
const UNREAD_BYTES = 10_000_000;
const SELECTION = { namespace, labelSelector: "suite=kills" };

let controlPlane: ControlPlane;
let client: KubeClient;
let stop: AbortController;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  client = await adminClient(controlPlane);
});

afterAll(async () => {
  await client?.[Symbol.asyncDispose]();
  await controlPlane?.[Symbol.asyncDispose]();
});

beforeEach(() => {
  stop = new AbortController();
});

afterEach(() => stop.abort());

function follow(through = client) {
  const rules = { backoff: { baseMs: 50, maxMs: 500 } };
  const informer = new Informer({
    client: through,
    resource: configMaps,
    ...SELECTION,
    rules,
    metrics: new Registry(),
  });
  const recorder = new HandlerRecorder<ConfigMap>();
  informer.on(recorder);
  informer.start(stop.signal);
  return { informer, recorder };
}

/** Writes until told to stop, whatever becomes of the API server; counts what was answered and what was not. */
class Writer {
  readonly stop = new AbortController();
  readonly running: Promise<void>;
  done = 0;
  refused = 0;
  unknown = 0;

  constructor() {
    this.running = this.#run();
  }

  async #run(): Promise<void> {
    for (let round = 0; !this.stop.signal.aborted; round++) {
      const ref = { namespace, name: `kills-${round % 40}` };
      const metadata = { ...ref, labels: { suite: "kills" } };
      try {
        if (round % 7 === 6) await client.delete(configMaps, ref, { timeoutMs: 2_000 });
        else {
          const object = { metadata, data: { round: String(round) } };
          await client.apply(configMaps, object, { fieldManager: "suite", force: true, timeoutMs: 2_000 });
        }
        this.done++;
      } catch (error) {
        if (error instanceof ApiError) this.refused++;
        else if (error instanceof ConnectionError) this.unknown++;
        else throw error;
      }
    }
  }
}

describe("a real API server", () => {
  test(`killed ${KILLS} times under writes: cache, recorder and server agree`, async () => {
    const followers = [follow(), follow()];
    await Promise.all(followers.map(({ informer }) => informer.whenSynced()));
    const writer = new Writer();
    for (let kill = 0; kill < KILLS; kill++) {
      const before = writer.done;
      await eventually("writes go through", () => writer.done > before + 20, { limitMs: 30_000 });
      await controlPlane.killApiServer();
      await controlPlane.restartApiServer();
    }
    const before = writer.done;
    await eventually("writes go through again", () => writer.done > before + 20, { limitMs: 30_000 });
    writer.stop.abort();
    await writer.running;
    const truth = (await client.list(configMaps, SELECTION)).items.map(describeObject).sort();
    for (const { informer, recorder } of followers) {
      await eventually(
        "the cache is the server's",
        () => informer.list().map(describeObject).sort().join() === truth.join(),
        { limitMs: 60_000 },
      );
      expect(recorder.believes).toEqual(truth);
      expect(recorder.contradictions).toEqual([]);
    }
    const { done, refused, unknown } = writer;
    const told = followers.map(({ recorder }) => recorder.lines.length).join(" and ");
    console.log(`${KILLS} kills: ${done} writes done, ${refused} refused, ${unknown} unanswered; told ${told} changes`);
  }, 600_000);

  test("compacted under watchers that were away or slow: they list again and nobody is told nonsense", async () => {
    const away = follow();
    await away.informer.whenSynced();
    const ref = { namespace, name: "compacted" };
    await client.create(configMaps, { metadata: { ...ref, labels: { suite: "kills" } }, data: {} });
    await eventually("the object is seen", () => away.informer.get("default/compacted"));
    await using backend = await realBackend(controlPlane);
    await using front = await Front.start(backend);
    await using narrow = new KubeClient({ credentials: front.credentials });
    const read = Promise.withResolvers<void>();
    front.once(["watch"], unreadUntil(read.promise));
    const slow = follow(narrow);
    await eventually("the slow watcher watches", () => front.count("watch") === 1);
    // While the API server is down the informer keeps its old version; compaction makes that version unusable.
    const old = await oldWatch();
    for (let round = 0; round < 200; round++) {
      const data = { round: String(round), text: "x".repeat(UNREAD_BYTES / 200) };
      await client.patch(configMaps, ref, { type: "merge", body: { data } });
    }
    await compact();
    await controlPlane.killApiServer();
    await controlPlane.restartApiServer();
    await client.delete(configMaps, ref);
    const seen = slow.informer.get("default/compacted");
    expect([seen?.metadata.name, seen?.data?.round]).toEqual(["compacted", undefined]);
    read.resolve();
    for (const { informer, recorder } of [away, slow]) {
      await eventually("the deletion is known", () => informer.get("default/compacted") === undefined, {
        limitMs: 60_000,
      });
      expect(recorder.contradictions).toEqual([]);
    }
    expect(slow.recorder.lines.at(-1)).toContain("missed-delete default/compacted");
    expect(front.count("read")).toBeGreaterThan(1);
    expect((await old()).some((line) => line.includes("410"))).toBe(true);
  }, 120_000);
});

/** Nothing of the watch is read before the promise is fulfilled: what it says stays with the API server. */
const unreadUntil =
  (read: Promise<void>): Fault =>
  async ({ response, forward }) => {
    const { status, headers, body } = await forward();
    response.writeHead(status, headers).flushHeaders();
    await read;
    for await (const chunk of body) response.write(chunk);
  };

/** A watch from the present version that is opened later; gives what it then says. */
async function oldWatch(): Promise<() => Promise<string[]>> {
  const { resourceVersion } = await client.list(configMaps, SELECTION);
  return async () => {
    const lines: string[] = [];
    const options = { ...SELECTION, resourceVersion, timeoutSeconds: 5, signal: stop.signal };
    try {
      for await (const event of client.watch(configMaps, options)) {
        lines.push(`${event.type} ${(event.object as { code?: number }).code ?? ""}`);
      }
    } catch (error) {
      lines.push(`refused ${(error as ApiError).status}`);
    }
    return lines;
  };
}

/** Makes etcd forget every version but the newest, as the API server does every five minutes. */
async function compact(): Promise<void> {
  const status = await etcd("/v3/maintenance/status", {});
  const revision = (status.header as { revision: string }).revision;
  await etcd("/v3/kv/compaction", { revision, physical: true });
}

async function etcd(path: string, body: object): Promise<Record<string, unknown>> {
  const { hostname } = new URL(controlPlane.url);
  const answer = await fetch(`http://${hostname}:2379${path}`, { method: "POST", body: JSON.stringify(body) });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Record<string, unknown>;
}
