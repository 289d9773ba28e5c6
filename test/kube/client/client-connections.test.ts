import { describe, expect, test } from "vitest";
import { ConnectionError } from "../../../src/kube/client/api-error.ts";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { Transport } from "../../../src/kube/client/transport.ts";
import type { Credentials } from "../../../src/kube/credentials/credentials.ts";
import { eventually } from "../../support/eventually.ts";
import {
  client,
  failure,
  forEachTest,
  get,
  PATH,
  REF,
  replaceClient,
  replaceServer,
  server,
} from "../support/client-harness.ts";
import { settle } from "../support/manual-clock.ts";
import { configMap } from "../support/objects.ts";
import { ScriptedServer } from "../support/scripted-server.ts";

forEachTest();

describe("a busy watch", () => {
  test("gives everything in order, what came right before its end too", async () => {
    const versions: string[] = [];
    const watching = (async () => {
      const { signal } = new AbortController();
      for await (const { object } of client.watch(RESOURCES.configMaps, { signal })) {
        versions.push(object.metadata.resourceVersion ?? "");
      }
    })();
    const watch = (await server.next("GET")).open();
    const sent = Array.from({ length: 100 }, (_, index) => String(index + 1));
    for (const version of sent) {
      watch.event("MODIFIED", configMap("a", version));
      await settle();
    }
    watch.end();
    await watching;
    expect(versions).toEqual(sent);
  });

  test("can be left between two readings", async () => {
    const stop = new AbortController();
    const watching = (async () => {
      for await (const { object } of client.watch(RESOURCES.configMaps, { signal: stop.signal })) {
        if (object.metadata.resourceVersion === "2") {
          stop.abort(new Error("enough"));
        }
      }
    })();
    const ended = failure(watching);
    const watch = (await server.next("GET")).open();
    watch.event("ADDED", configMap("a", "1"));
    await settle();
    watch.event("MODIFIED", configMap("a", "2")).event("MODIFIED", configMap("a", "3"));
    expect(await ended).toMatchObject({ message: "enough" });
    await eventually("the connection is closed", () => watch.closed);
  });
});

describe("a process that stands still", () => {
  test("reads what came meanwhile before it takes the server for silent", async () => {
    replaceClient(new KubeClient({ credentials: server.credentials(), watchSilenceMs: 300 }));
    const { signal } = new AbortController();
    const versions = (async () => {
      for await (const { object } of client.watch(RESOURCES.configMaps, { signal })) {
        return object.metadata.resourceVersion;
      }
      return undefined;
    })();
    const watch = (await server.next("GET")).open();
    const endsAt = performance.now() + 400;
    while (performance.now() < endsAt);
    watch.event("ADDED", configMap("a", "1"));
    expect(await versions).toBe("1");
  });

  test("does not take the server for silent while it leaves the answer unread itself", async () => {
    const transport = new Transport(server.credentials());
    const silenceMs = 200;
    const sending = transport.send({ method: "GET", path: PATH, headers: {}, idleTimeoutMs: silenceMs });
    const data = "x".repeat(8 * 1024 * 1024);
    (await server.next("GET")).answer(200, data);
    const { body } = await sending;
    await new Promise((resolve) => setTimeout(resolve, 3 * silenceMs));
    let bytes = 0;
    for await (const chunk of body) bytes += chunk.length;
    expect(bytes).toBe(data.length);
    transport.close();
  });
});

describe("connections that break", () => {
  test("a read is repeated on a new connection", async () => {
    const getting = get();
    await (await server.next("GET")).reset();
    (await server.next("GET")).answer(200, configMap("a", "5"));
    expect((await getting).metadata.resourceVersion).toBe("5");
  });

  test("a write is not: the error says that it may have been done", async () => {
    const creating = failure(client.create(RESOURCES.configMaps, configMap("a", "1")));
    await (await server.next("POST")).reset();
    const error = await creating;
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ written: true });
    expect(server.pending).toEqual([]);
  });

  test("nobody listening: the error says that nothing was sent, to whom and why", async () => {
    const { url } = server;
    await server[Symbol.asyncDispose]();
    const error = await failure(client.create(RESOURCES.configMaps, configMap("a", "1")));
    expect(error).toMatchObject({ name: "ConnectionError", written: false, code: "ECONNREFUSED" });
    expect((error as Error).message).toContain(url);
    replaceServer(await ScriptedServer.start());
  });

  test("a name that does not resolve: nothing was sent", async () => {
    const credentials: Credentials = { ...server.credentials(), server: "https://nowhere.invalid:6443" };
    const lost = new KubeClient({ credentials });
    expect(await failure(lost.get(RESOURCES.configMaps, REF))).toMatchObject({ written: false });
    await lost[Symbol.asyncDispose]();
  });

  test("a server of another authority is refused before anything is sent", async () => {
    await server.changeCertificate();
    expect(await failure(get())).toMatchObject({ name: "ConnectionError", written: false });
    expect(server.pending).toEqual([]);
  });

  test("a new CA in the credentials is used from the next request on", async () => {
    let ca = server.ca;
    let tls = { ca };
    const credentials: Credentials = {
      ...server.credentials(),
      current: async () => {
        tls = tls.ca === ca ? tls : { ca };
        return { tls, headers: {} };
      },
    };
    replaceClient(new KubeClient({ credentials }));
    const first = get();
    (await server.next("GET")).answer(200, configMap("a", "5"));
    await first;
    ca = await server.changeCertificate();
    const second = get();
    (await server.next("GET")).answer(200, configMap("a", "6"));
    expect((await second).metadata.resourceVersion).toBe("6");
  });

  test("connections are used again", async () => {
    for (let round = 0; round < 5; round++) {
      const getting = get();
      (await server.next("GET")).answer(200, configMap("a", "5"));
      await getting;
    }
    // Two, not one: an answer can be read to its end a moment before its connection counts as free.
    expect(server.connections).toBeLessThanOrEqual(2);
  });

  test("a connection that the server closed between requests does no harm", async () => {
    for (let round = 0; round < 3; round++) {
      const getting = get();
      (await server.next("GET")).answer(200, configMap("a", "5"), { connection: "close" });
      expect(await getting).toMatchObject({ metadata: { name: "a" } });
    }
    expect(server.connections).toBe(3);
  });
});

describe("time and signals", () => {
  test("no answer within the deadline is a ConnectionError that names request and time", async () => {
    const error = await failure(get({ timeoutMs: 50 }));
    expect(error).toMatchObject({ name: "ConnectionError", written: true, code: "ETIMEDOUT" });
    expect((error as Error).message).toBe(`GET ${PATH}: no answer within 50 ms`);
  });

  test("an answer that stops in the middle is a ConnectionError too", async () => {
    const getting = failure(get({ timeoutMs: 300 }));
    (await server.next("GET")).open().write('{"kind":');
    expect(await getting).toMatchObject({ code: "ETIMEDOUT" });
  });

  test("the caller's signal ends a call at once with its reason", async () => {
    const stop = new AbortController();
    const getting = failure(get({ signal: stop.signal }));
    await server.next("GET");
    stop.abort(new Error("enough"));
    expect(await getting).toMatchObject({ message: "enough" });
    expect(await failure(get({ signal: stop.signal }))).toMatchObject({ message: "enough" });
  });

  test("a watch that is left gives its connection up", async () => {
    const watching = (async () => {
      for await (const event of client.watch(RESOURCES.configMaps, { signal: new AbortController().signal })) {
        return event;
      }
      return undefined;
    })();
    const exchange = (await server.next("GET")).open().event("ADDED", configMap("a", "5"));
    expect((await watching)?.type).toBe("ADDED");
    while (!exchange.closed) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  });

  test("no more than the given number of calls are under way at once", async () => {
    replaceClient(new KubeClient({ credentials: server.credentials(), maxInFlight: 2 }));
    const calls = Array.from({ length: 6 }, () => get());
    let most = 0;
    for (let answered = 0; answered < 6; answered++) {
      const exchange = await server.next("GET");
      most = Math.max(most, 1 + server.pending.length);
      exchange.answer(200, configMap("a", "5"));
    }
    await Promise.all(calls);
    expect(most).toBeLessThanOrEqual(2);
  });

  test("a call that waits for its turn can be aborted", async () => {
    replaceClient(new KubeClient({ credentials: server.credentials(), maxInFlight: 1 }));
    const first = get();
    const exchange = await server.next("GET");
    const stop = new AbortController();
    const second = failure(get({ signal: stop.signal }));
    stop.abort(new Error("enough"));
    expect(await second).toMatchObject({ message: "enough" });
    exchange.answer(200, configMap("a", "5"));
    await first;
    const third = get();
    (await server.next("GET")).answer(200, configMap("a", "6"));
    await third;
  });

  test("after dispose every call fails", async () => {
    await client[Symbol.asyncDispose]();
    expect(await failure(get())).toMatchObject({ name: "ConnectionError", written: false });
  });
});
