import { once } from "node:events";
import * as http from "node:http";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Log, silentLog } from "../../../src/kube/log.ts";
import { setHandlerDeadline } from "../../../src/kube/server/handler-deadline.ts";
import { HttpError } from "../../../src/kube/server/http-error.ts";
import { type PostRequest, RouteServer } from "../../../src/kube/server/route-server.ts";
import { eventually } from "../../support/eventually.ts";
import { type Ask, askServer, type Got } from "../support/ask-server.ts";

type Line = [fields: { path?: string }, message: string];

let server: RouteServer;
let agent: http.Agent;
let logged: Line[];

beforeEach(() => {
  logged = [];
  server = new RouteServer({ port: 0, host: "127.0.0.1", log: errorsTo(logged) });
  agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
});

afterEach(async () => {
  agent.destroy();
  await server[Symbol.asyncDispose]();
});

const errorsTo = (lines: Line[]): Log => ({ ...silentLog, error: (...line) => lines.push(line as Line) });
const ask = (path: string, options?: Ask): Promise<Got> => askServer(server.port, agent, path, options);
const post = (path: string, body = "x"): Promise<Got> => ask(path, { method: "POST", body });

test("gives a handler the body and the query, and answers its JSON", async () => {
  const asked: PostRequest[] = [];
  server.post("/y", (request, answer) => {
    asked.push(request);
    answer.send('{"ä":1}');
  });
  await server.listen();
  const { status, body, headers } = await post("/y?timeout=1s", "ö");
  expect([status, body, headers["content-type"]]).toEqual([200, '{"ä":1}', "application/json; charset=utf-8"]);
  await ask("/y", { method: "POST" });
  expect(asked).toEqual([
    { body: "ö", search: "?timeout=1s" },
    { body: "", search: "" },
  ]);
});

test("unknown paths are 404, other methods 405, and one connection serves them all", async () => {
  server.post("/y", (_request, answer) => answer.send("{}"));
  await server.listen();
  expect(await ask("/z?q")).toMatchObject({ status: 404, body: "nothing at /z\n" });
  expect((await ask("/%zz")).status).toBe(404);
  expect((await post("//y")).status).toBe(404);
  for (const method of ["GET", "HEAD", "PUT", "OPTIONS"]) {
    const { status, body, headers } = await ask("/y", { method });
    expect([status, headers.allow, headers.connection]).toEqual([405, "POST", "keep-alive"]);
    expect(body).toBe(method === "HEAD" ? "" : `${method} is not possible here\n`);
  }
});

test("a body that nobody wants ends its connection, and is not taken for the next request", async () => {
  server.post("/y", (_request, answer) => answer.send("{}"));
  await server.listen();
  const smuggled = "POST /y HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\nx";
  const received = await new Promise<string>((resolve) => {
    const socket = connect(server.port, "127.0.0.1");
    let text = "";
    socket.on("data", (data) => {
      text += data;
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(text));
    socket.write(`POST /z HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n${smuggled}`);
  });
  expect(received).toMatch(/^HTTP\/1.1 404 .*\r\nconnection: close\r\n.*nothing at \/z\n$/is);
});

describe("failures", () => {
  test("an HttpError becomes its answer, anything else a 500 that tells nothing, thrown or sent", async () => {
    const failures = { known: new HttpError(409, "the reason"), unknown: new Error("secret detail") };
    for (const [name, failure] of Object.entries(failures)) {
      server.post(`/${name}-thrown`, () => {
        throw failure;
      });
      server.post(`/${name}-sent`, (_request, answer) => answer.send(failure));
    }
    await server.listen();
    for (const how of ["thrown", "sent"]) {
      expect(await post(`/known-${how}`)).toMatchObject({ status: 409, body: "the reason\n" });
      expect(await post(`/unknown-${how}`)).toMatchObject({ status: 500, body: "internal error\n" });
    }
    expect(logged.map(([{ path }, message]) => [path, message])).toEqual([
      ["/unknown-thrown", "a request failed"],
      ["/unknown-sent", "a request failed"],
    ]);
  });

  test("the first answer is the only one", async () => {
    server.post("/", (_request, answer) => {
      answer.send("{}");
      answer.send(new HttpError(504, "late"));
      throw new Error("later");
    });
    await server.listen();
    for (let round = 0; round < 2; round++) expect(await post("/")).toMatchObject({ status: 200, body: "{}" });
    expect(logged).toEqual([]);
  });

  test("a handler that takes too long is cut off with its own answer and told so", async () => {
    let reason: unknown;
    server.post("/", (_request, answer) => {
      const signal = setHandlerDeadline(answer, 50, () => new HttpError(503, "too slow"));
      signal.addEventListener("abort", () => {
        reason = signal.reason;
      });
    });
    await server.listen();
    expect(await post("/")).toMatchObject({ status: 503, body: "too slow\n" });
    expect(reason).toBeInstanceOf(HttpError);
  });

  test("a client that goes away aborts the handler's signal, and its failure is nobody's", async () => {
    const events: string[] = [];
    server.post("/", (_request, answer) => {
      const signal = setHandlerDeadline(answer, 60_000, () => new HttpError(503, "too slow"));
      events.push(signal.aborted ? "aborted" : "begun");
      signal.addEventListener("abort", () => {
        answer.send(new Error("given up"));
        events.push("ended");
      });
    });
    await server.listen();
    const socket = connect(server.port, "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\nx");
    await eventually("begun", () => events.length > 0);
    socket.destroy();
    await eventually("ended", () => events.length > 1);
    expect([events, logged]).toEqual([["begun", "ended"], []]);
  });

  test("a client that goes away in the middle of its body is no failure, and its body counts no longer", async () => {
    server = new RouteServer({ port: 0, host: "127.0.0.1", maxBytes: 1_000, log: errorsTo(logged) });
    server.post("/", (_request, answer) => answer.send("{}"));
    const ended: Promise<unknown>[] = [];
    server.server.on("request", (_request: http.IncomingMessage, response: http.ServerResponse) => {
      ended.push(once(response, "close"));
    });
    await server.listen();
    for (let round = 0; round < 3; round++) {
      const socket = connect(server.port, "127.0.0.1");
      socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\n${"x".repeat(800)}`);
      await eventually("begun", () => ended.length > round);
      socket.destroy();
      await ended[round];
    }
    expect(await post("/", "x".repeat(900))).toMatchObject({ status: 200 });
    expect(logged).toEqual([]);
  });
});
