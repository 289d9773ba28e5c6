import dns from "node:dns";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ConfigMap } from "../../../src/kube/client/built-in-kinds.ts";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { Informer, type InformerOptions } from "../../../src/kube/informer/informer.ts";
import { eventually } from "../../support/eventually.ts";
import { HandlerRecorder } from "../support/handler-recorder.ts";
import { ManualClock, settle } from "../support/manual-clock.ts";
import { configMap } from "../support/objects.ts";
import { ScriptedServer } from "../support/scripted-server.ts";

const OUTAGE_MS = 120_000;

let server: ScriptedServer;
let stop: AbortController;
let recorder: HandlerRecorder<ConfigMap>;
let clients: KubeClient[];

beforeEach(async () => {
  server = await ScriptedServer.start();
  stop = new AbortController();
  recorder = new HandlerRecorder();
  clients = [];
});

afterEach(async () => {
  vi.restoreAllMocks();
  stop.abort();
  for (const client of clients) {
    await client[Symbol.asyncDispose]();
  }
  await server[Symbol.asyncDispose]();
});

function start(options: Partial<InformerOptions<ConfigMap>> = {}, credentials = server.credentials()) {
  const client = new KubeClient({ credentials });
  clients.push(client);
  const informer = new Informer({
    client,
    resource: RESOURCES.configMaps,
    metrics: new Registry(),
    ...options,
    rules: { wholeList: false, ...options.rules },
  });
  informer.on(recorder);
  informer.start(stop.signal);
  return informer;
}

/** A clock that goes on as soon as everybody only waits for it, and remembers for how long they wanted to wait. */
class HastyClock extends ManualClock {
  readonly waits: number[] = [];

  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.waits.push(ms);
    const sleeping = super.sleep(ms, signal);
    await settle();
    await Promise.all([this.advance(ms), sleeping]);
  }
}

describe("an API server that is away", () => {
  test("at the start and for two minutes: it is asked again with growing waits up to 30 s, and found when it is back", async () => {
    const clock = new HastyClock();
    const port = Number(new URL(server.url).port);
    await server[Symbol.asyncDispose]();
    const startedMs = clock.monotonicMs();
    const informer = start({ clock });
    await eventually("two minutes have passed", () => clock.monotonicMs() - startedMs > OUTAGE_MS);
    expect(informer.hasSynced).toBe(false);
    const [first = 0] = clock.waits;
    expect(first).toBeGreaterThanOrEqual(800);
    expect(Math.max(...clock.waits)).toBeLessThanOrEqual(30_000);
    expect(clock.waits.length).toBeLessThan(40);
    server = await ScriptedServer.start({ port, authority: server.authority });
    (await server.next("GET", /limit=500/)).list([configMap("a", "5")], "10");
    await informer.whenSynced();
  });

  test("in the middle for two minutes: the cache stays readable, and nothing is lost when it is back", async () => {
    const clock = new HastyClock();
    const informer = start({ clock });
    (await server.next("GET", /limit=500/)).list([configMap("a", "5")], "10");
    (await server.next("GET", /watch=true/)).open();
    await informer.whenSynced();
    const startedMs = clock.monotonicMs();
    while (clock.monotonicMs() - startedMs < OUTAGE_MS) {
      server.resetAll();
      for (const exchange of server.takeAll()) {
        await exchange.reset();
      }
      await settle();
      expect(informer.get("default/a")?.metadata.resourceVersion).toBe("5");
    }
    const next = await server.next("GET");
    if (next.path.includes("watch=true")) {
      expect(next.query.get("resourceVersion")).toBe("10");
      next.open().event("MODIFIED", configMap("a", "11"));
    } else {
      next.list([configMap("a", "11")], "12");
    }
    await eventually("the change", () => recorder.lines.includes("update default/a@11"));
    expect(recorder.lines).toEqual(["add default/a@5", "update default/a@11"]);
  });

  test("because its name does not resolve at first: found once it does", async () => {
    const lookup = dns.lookup;
    let failures = 0;
    const resolve = (name: string, options: unknown, done: (error: Error | null, ...found: unknown[]) => void) => {
      if (name !== "api.example.invalid") {
        return (lookup as (...all: unknown[]) => void)(name, options, done);
      }
      if (failures++ < 4) {
        return done(Object.assign(new Error(`getaddrinfo EAI_AGAIN ${name}`), { code: "EAI_AGAIN" }));
      }
      const all = (options as { all?: boolean }).all;
      return all ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4);
    };
    vi.spyOn(dns, "lookup").mockImplementation(resolve as typeof dns.lookup);
    const tls = { ca: server.ca, rejectUnauthorized: false };
    const credentials = Object.assign(server.credentials(), {
      server: server.url.replace("127.0.0.1", "api.example.invalid"),
      current: async () => ({ tls, headers: {} }),
    });
    const informer = start({ rules: { backoff: { baseMs: 4, maxMs: 20 } } }, credentials);
    (await server.next("GET", /limit=500/)).list([configMap("a", "5")], "10");
    await informer.whenSynced();
    expect(failures).toBeGreaterThan(4);
  });
});

test("the wall clock jumping hours ahead and back changes nothing", async () => {
  const clock = new ManualClock();
  const informer = start({ clock });
  (await server.next("GET", /limit=500/)).list([configMap("a", "5")], "10");
  const watch = (await server.next("GET", /watch=true/)).open();
  await informer.whenSynced();
  for (const hours of [5, -10, 5]) {
    clock.jump(hours * 3_600_000);
    await settle();
  }
  watch.event("MODIFIED", configMap("a", "11"));
  await eventually("the change", () => recorder.lines.includes("update default/a@11"));
  expect(server.pending).toEqual([]);
  expect(clock.pending).toBe(0);
});

test("stopping leaves nothing behind: no connection, no timer, no listener", async () => {
  const clock = new ManualClock();
  const listeners = { added: 0 };
  const add = stop.signal.addEventListener.bind(stop.signal);
  const remove = stop.signal.removeEventListener.bind(stop.signal);
  stop.signal.addEventListener = (...all: Parameters<typeof add>) => {
    listeners.added++;
    add(...all);
  };
  stop.signal.removeEventListener = (...all: Parameters<typeof remove>) => {
    listeners.added--;
    remove(...all);
  };
  start({ clock });
  for (let round = 0; round < 20; round++) {
    (await server.next("GET", /limit=500/)).list([], "10");
    (await server.next("GET", /watch=true/)).status(410, "Expired");
    await settle();
    await clock.advance(60_000);
  }
  expect(listeners.added).toBeLessThan(5);
  stop.abort();
  await eventually("no timer", () => clock.pending === 0);
});
