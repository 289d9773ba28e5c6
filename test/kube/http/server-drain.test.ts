import * as http from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { askServer, type Got } from "../support/ask-server.ts";
import { POST_SERVERS, type Posts } from "../support/post-servers.ts";

describe.each(POST_SERVERS)("%s", (_, make) => {
  let server: Posts["server"];
  let agent: http.Agent;

  beforeEach(() => {
    agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  });

  afterEach(async () => {
    agent.destroy();
    await server[Symbol.asyncDispose]();
  });

  const ask = (): Promise<Got> => askServer(server.port, agent, "/", { method: "POST", body: "x" });

  async function start(handler: () => string | Promise<string>): Promise<void> {
    server = make({ port: 0, host: "127.0.0.1" }, handler).server;
    await server.listen();
  }

  test("serves many requests on one connection", async () => {
    await start(() => "ok");
    for (let round = 0; round < 5; round++) expect((await ask()).headers.connection).toBe("keep-alive");
  });

  test("waits for the answers under way when it drains, then refuses connections", async () => {
    const gate = Promise.withResolvers<void>();
    let begun = false;
    await start(async () => {
      begun = true;
      await gate.promise;
      return "finished";
    });
    server.ready = true;
    const answer = ask();
    await eventually("begun", () => begun);
    const drained = server.drain(5_000);
    expect(server.ready).toBe(false);
    gate.resolve();
    expect(await answer).toMatchObject({ status: 200, body: "finished", headers: { connection: "close" } });
    await drained;
    await expect(ask()).rejects.toThrow("ECONNREFUSED");
  });

  test("still serves while it settles, but ends connections with their next answer", async () => {
    await start(() => "ok");
    await ask();
    const drained = server.drain(5_000, 1_000);
    expect((await ask()).headers.connection).toBe("close");
    await drained;
  });

  test("closes what is still open when the time to drain is over", async () => {
    let begun = false;
    await start(() => {
      begun = true;
      return new Promise(() => {});
    });
    const answer = ask().catch((error) => error);
    await eventually("begun", () => begun);
    await server.drain(50);
    expect(await answer).toBeInstanceOf(Error);
  });
});
