import { once } from "node:events";
import * as http from "node:http";
import * as https from "node:https";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLog } from "../../../src/kube/log.ts";
import type { CertificateSource, ServerCertificate } from "../../../src/kube/server/certificate-source.ts";
import { setHandlerDeadline } from "../../../src/kube/server/handler-deadline.ts";
import { HttpError } from "../../../src/kube/server/http-error.ts";
import { HttpServer } from "../../../src/kube/server/http-server.ts";
import { Authority } from "../../cluster/control-plane/authority.ts";
import { eventually } from "../../support/eventually.ts";
import { type Ask, askServer, type Got } from "../support/ask-server.ts";

let server: HttpServer;
let agent: http.Agent;

beforeEach(() => {
  server = new HttpServer({ port: 0, host: "127.0.0.1", maxBodyBytes: 1000 });
  agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
});

afterEach(async () => {
  agent.destroy();
  await server[Symbol.asyncDispose]();
});

const ask = (path: string, options?: Ask): Promise<Got> => askServer(server.port, agent, path, options);

test("unknown paths are 404, other methods 405, HEAD is GET without body", async () => {
  server.app.get("/x", async () => "x");
  server.app.post("/y", async () => "y");
  await server.listen();
  expect(await ask("/z?q")).toMatchObject({ status: 404, body: "nothing at /z\n" });
  for (const [path, method, allow] of [
    ["/x", "POST", "GET"],
    ["/y", "GET", "POST"],
    ["/y", "HEAD", "POST"],
  ] as const) {
    const wrong = await ask(path, { method });
    expect([wrong.status, wrong.headers.allow]).toEqual([405, allow]);
  }
  expect(await ask("/x", { method: "HEAD" })).toMatchObject({ status: 200, body: "" });
  expect((await ask("/%zz")).status).toBe(400);
});

describe("failures", () => {
  test("an HttpError becomes its answer, anything else a 500 that tells nothing", async () => {
    server.app.get("/known", () => {
      throw new HttpError(409, "the reason");
    });
    server.app.get("/unknown", async () => {
      throw new Error("secret detail");
    });
    await server.listen();
    expect(await ask("/known")).toMatchObject({ status: 409, body: "the reason\n" });
    const unknown = await ask("/unknown");
    expect(unknown.status).toBe(500);
    expect(unknown.body).not.toContain("secret");
  });

  test("a handler that takes too long is cut off with its own answer and told so", async () => {
    let reason: unknown;
    server.app.post("/", (_request, reply) => {
      const signal = setHandlerDeadline(reply, 50, () => new HttpError(503, "too slow"));
      signal.addEventListener("abort", () => {
        reason = signal.reason;
      });
      return new Promise(() => {});
    });
    await server.listen();
    expect(await ask("/", { method: "POST", body: "x" })).toMatchObject({ status: 503, body: "too slow\n" });
    expect(reason).toBeInstanceOf(HttpError);
  });

  test("a handler with a short limit does not wait for one with a long limit that began before it", async () => {
    const signals: AbortSignal[] = [];
    server.app.post("/:limitMs", (request, reply) => {
      const { limitMs } = request.params as { limitMs: string };
      signals.push(setHandlerDeadline(reply, Number(limitMs), () => new HttpError(503, "too slow")));
      return new Promise(() => {});
    });
    await server.listen();
    const stop = new AbortController();
    const long = fetch(`http://127.0.0.1:${server.port}/60000`, { method: "POST", signal: stop.signal });
    await eventually("begun", () => signals.length > 0);
    expect(await ask("/50", { method: "POST", body: "x" })).toMatchObject({ status: 503 });
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
    stop.abort();
    await expect(long).rejects.toThrow();
  });

  test("a client that goes away aborts the handler's signal, not before, and is no failure", async () => {
    const events: string[] = [];
    const log = { ...silentLog, error: () => events.push("logged") };
    server = new HttpServer({ port: 0, host: "127.0.0.1", log });
    server.app.post("/", async (request, reply) => {
      const signal = setHandlerDeadline(reply, 60_000, () => new HttpError(503, "too slow"));
      await once(request.raw, "close");
      events.push(signal.aborted ? "aborted" : "begun");
      await new Promise((_resolve, reject) => signal.addEventListener("abort", reject));
    });
    server.app.addHook("onError", async () => {
      events.push("ended");
    });
    await server.listen();
    const socket = connect(server.port, "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\nx");
    await eventually("begun", () => events.length > 0);
    socket.destroy();
    await eventually("ended", () => events.length > 1);
    expect(events).toEqual(["begun", "ended"]);
  });

  test("a port in use is an error of listen", async () => {
    await server.listen();
    const second = new HttpServer({ port: server.port, host: "127.0.0.1" });
    await expect(second.listen()).rejects.toThrow(`Port ${server.port} is in use`);
  });
});

describe("TLS", () => {
  let authority: Authority;
  const issue = () => authority.issue({ commonName: "s", addresses: ["127.0.0.1"], usage: ["server"] });

  function source(first?: ServerCertificate): CertificateSource & { set(next: ServerCertificate): void } {
    let certificate = first;
    const listeners = new Set<() => void>();
    return {
      current: () => certificate,
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      set(next) {
        certificate = next;
        for (const listener of listeners) {
          listener();
        }
      },
    };
  }

  beforeEach(async () => {
    authority = await Authority.create("ca");
  });

  test("a new certificate is used by new connections, while open ones go on", async () => {
    const certificates = source(await issue());
    server = new HttpServer({ port: 0, host: "127.0.0.1", tls: certificates });
    server.app.get("/", async () => "ok");
    await server.listen();
    const ca = authority.certificate;
    const kept = new https.Agent({ keepAlive: true, maxSockets: 1 });
    const first = await ask("/", { ca, agent: kept });
    certificates.set(await issue());
    expect((await ask("/", { ca, agent: kept })).peer).toBe(first.peer);
    const fresh = new https.Agent({ maxCachedSessions: 0 });
    const second = await ask("/", { ca, agent: fresh });
    expect(second.peer).not.toBe(first.peer);
    certificates.set({ cert: "rubbish", key: "rubbish" });
    expect((await ask("/", { ca, agent: fresh })).peer).toBe(second.peer);
    kept.destroy();
  });

  test("draining waits for a long answer to be out", async () => {
    const body = "x".repeat(5 * 1024 * 1024);
    const gate = Promise.withResolvers<void>();
    let begun = false;
    server = new HttpServer({ port: 0, host: "127.0.0.1", tls: source(await issue()) });
    server.app.get("/", async () => {
      begun = true;
      await gate.promise;
      return body;
    });
    await server.listen();
    const answer = ask("/", { ca: authority.certificate, agent: new https.Agent({ maxCachedSessions: 0 }) });
    await eventually("begun", () => begun);
    const drained = server.drain(5_000);
    gate.resolve();
    expect((await answer).body).toHaveLength(body.length);
    await drained;
  });

  test("without a certificate handshakes fail until there is one", async () => {
    const certificates = source();
    server = new HttpServer({ port: 0, host: "127.0.0.1", tls: certificates });
    server.app.get("/", async () => "ok");
    await server.listen();
    const fresh = new https.Agent({ maxCachedSessions: 0 });
    await expect(ask("/", { ca: authority.certificate, agent: fresh })).rejects.toThrow();
    certificates.set(await issue());
    expect((await ask("/", { ca: authority.certificate, agent: fresh })).status).toBe(200);
  });

  test("a garbled handshake does no harm", async () => {
    server = new HttpServer({ port: 0, host: "127.0.0.1", tls: source(await issue()) });
    server.app.get("/", async () => "ok");
    await server.listen();
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.end("GET / HTTP/1.1\r\n\r\n");
    await new Promise((resolve) => socket.once("close", resolve));
    expect(
      (await ask("/", { ca: authority.certificate, agent: new https.Agent({ maxCachedSessions: 0 }) })).status,
    ).toBe(200);
  });
});
