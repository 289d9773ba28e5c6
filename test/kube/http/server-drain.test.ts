import * as http from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HttpServer } from "../../../src/kube/http/server.ts";
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

describe("keep-alive and drain", () => {
  test("one connection serves many requests", async () => {
    server.app.post("/", async (request) => request.body);
    server.app.get("/", async () => "ok");
    await server.listen();
    for (let round = 0; round < 5; round++) {
      const get = await ask("/");
      const post = await ask("/", { method: "POST", body: "x" });
      expect(get.headers.connection).toBe("keep-alive");
      expect(post.headers.connection).toBe("keep-alive");
    }
  });

  test("waits for the answers under way, then refuses connections", async () => {
    const gate = Promise.withResolvers<void>();
    let begun = false;
    server.ready = true;
    server.app.get("/", async () => {
      begun = true;
      await gate.promise;
      return "finished";
    });
    await server.listen();
    const answer = ask("/");
    await eventually("begun", () => begun);
    const drained = server.drain(5_000);
    expect(server.ready).toBe(false);
    gate.resolve();
    expect(await answer).toMatchObject({ status: 200, body: "finished", headers: { connection: "close" } });
    await drained;
    await expect(ask("/")).rejects.toThrow("ECONNREFUSED");
  });

  test("while it settles, still serves but ends connections with their next answer", async () => {
    server.app.get("/", async () => "ok");
    await server.listen();
    await ask("/");
    const drained = server.drain(5_000, 1_000);
    expect((await ask("/")).headers.connection).toBe("close");
    await drained;
  });

  test("closes what is still open when the time is over", async () => {
    let begun = false;
    server.app.get("/", () => {
      begun = true;
      return new Promise(() => {});
    });
    await server.listen();
    const answer = ask("/").catch((error) => error);
    await eventually("begun", () => begun);
    await server.drain(50);
    expect(await answer).toBeInstanceOf(Error);
  });
});
