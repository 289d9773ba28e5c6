import * as http from "node:http";
import * as https from "node:https";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HttpError, jsonAnswer, textAnswer } from "../../../src/kube/http/http-handler.ts";
import { type CertificateSource, HttpServer, type ServerCertificate } from "../../../src/kube/http/server.ts";
import { Authority } from "../../cluster/control-plane/authority.ts";
import { type Ask, askServer, type Got } from "../support/ask-server.ts";
import { eventually } from "../support/eventually.ts";

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

describe("routes", () => {
  test("exact paths go before prefixes, long prefixes before short ones", async () => {
    server
      .route("GET", "/*", () => textAnswer(200, "rest"))
      .route("GET", "/web/*", () => textAnswer(200, "web"))
      .route("GET", "/web/exact", () => textAnswer(200, "exact"))
      .route("*", "/any", (request) => textAnswer(200, request.method));
    await server.listen();
    expect((await ask("/web/exact?x=1")).body).toBe("exact\n");
    expect((await ask("/web/exact/more")).body).toBe("web\n");
    expect((await ask("/other")).body).toBe("rest\n");
    expect((await ask("/any", { method: "DELETE" })).body).toBe("DELETE\n");
  });

  test("unknown paths are 404, other methods 405, HEAD is GET without body", async () => {
    server.route("GET", "/x", () => textAnswer(200, "x"));
    await server.listen();
    expect((await ask("/y")).status).toBe(404);
    const wrong = await ask("/x", { method: "POST" });
    expect([wrong.status, wrong.headers.allow]).toEqual([405, "GET"]);
    expect(await ask("/x", { method: "HEAD" })).toMatchObject({ status: 200, body: "" });
    expect((await ask("/%zz")).status).toBe(400);
  });

  test("handlers see path, query and body", async () => {
    server.route("POST", "/a b", async (request) =>
      jsonAnswer(200, [request.path, request.query.get("q"), (await request.body()).toString()]),
    );
    await server.listen();
    expect(JSON.parse((await ask("/a%20b?q=%C3%A4", { method: "POST", body: "hi" })).body)).toEqual([
      "/a b",
      "ä",
      "hi",
    ]);
  });
});

describe("failures", () => {
  test("an HttpError becomes its answer, anything else a 500 that tells nothing", async () => {
    server
      .route("GET", "/known", () => {
        throw new HttpError(409, "the reason");
      })
      .route("GET", "/unknown", async () => {
        throw new Error("secret detail");
      });
    await server.listen();
    expect(await ask("/known")).toMatchObject({ status: 409, body: "the reason\n" });
    const unknown = await ask("/unknown");
    expect(unknown.status).toBe(500);
    expect(unknown.body).not.toContain("secret");
  });

  test("a body above the limit is 413, announced or not, and the server goes on", async () => {
    server.route("POST", "/", async (request) => textAnswer(200, String((await request.body()).length)));
    await server.listen();
    expect((await ask("/", { method: "POST", body: "x".repeat(1000) })).body).toBe("1000\n");
    expect((await ask("/", { method: "POST", body: "x".repeat(1001) })).status).toBe(413);
    const chunked = await new Promise<string>((resolve, reject) => {
      const socket = connect(server.port, "127.0.0.1");
      const piece = `ff\r\n${"x".repeat(255)}\r\n`;
      socket.write(`POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${piece.repeat(5)}`);
      socket.on("data", (data) => {
        resolve(data.toString());
        socket.destroy();
      });
      socket.on("error", reject);
    });
    expect(chunked).toMatch(/^HTTP\/1.1 413/);
    expect((await ask("/", { method: "POST", body: "x" })).body).toBe("1\n");
  });

  test("a handler that takes too long is cut off with 503 and told so", async () => {
    const slow = new HttpServer({ port: 0, host: "127.0.0.1", requestTimeoutMs: 50 });
    let reason: unknown;
    slow.route("GET", "/", (_, signal) => {
      signal.addEventListener("abort", () => {
        reason = signal.reason;
      });
      return new Promise(() => {});
    });
    server = slow;
    await server.listen();
    expect((await ask("/")).status).toBe(503);
    expect(reason).toBeInstanceOf(HttpError);
  });

  test("a client that goes away aborts the handler's signal", async () => {
    let aborted = false;
    let begun = false;
    server.route("GET", "/", (_, signal) => {
      begun = true;
      signal.addEventListener("abort", () => {
        aborted = true;
      });
      return new Promise(() => {});
    });
    await server.listen();
    const socket = connect(server.port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await eventually("begun", () => begun);
    socket.destroy();
    await eventually("aborted", () => aborted);
  });

  test("a port in use is an error of listen", async () => {
    await server.listen();
    const second = new HttpServer({ port: server.port, host: "127.0.0.1" });
    await expect(second.listen()).rejects.toThrow("EADDRINUSE");
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
    server.route("GET", "/", () => textAnswer(200, "ok"));
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
    server.route("GET", "/", async () => {
      begun = true;
      await gate.promise;
      return textAnswer(200, body);
    });
    await server.listen();
    const answer = ask("/", { ca: authority.certificate, agent: new https.Agent({ maxCachedSessions: 0 }) });
    await eventually("begun", () => begun);
    const drained = server.drain(5_000);
    gate.resolve();
    expect((await answer).body).toHaveLength(body.length + 1);
    await drained;
  });

  test("without a certificate handshakes fail until there is one", async () => {
    const certificates = source();
    server = new HttpServer({ port: 0, host: "127.0.0.1", tls: certificates });
    server.route("GET", "/", () => textAnswer(200, "ok"));
    await server.listen();
    const fresh = new https.Agent({ maxCachedSessions: 0 });
    await expect(ask("/", { ca: authority.certificate, agent: fresh })).rejects.toThrow();
    certificates.set(await issue());
    expect((await ask("/", { ca: authority.certificate, agent: fresh })).status).toBe(200);
  });

  test("a garbled handshake does no harm", async () => {
    server = new HttpServer({ port: 0, host: "127.0.0.1", tls: source(await issue()) });
    server.route("GET", "/", () => textAnswer(200, "ok"));
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
