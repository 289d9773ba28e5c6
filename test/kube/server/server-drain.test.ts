import * as http from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ServerOptions } from "../../../src/kube/server/guarded-server.ts";
import { eventually } from "../../support/eventually.ts";
import { askServer, type Got } from "../support/ask-server.ts";
import { POST_SERVERS, type Posts } from "../support/post-servers.ts";

describe.each(POST_SERVERS)("%s", (_, make) => {
  let server: Posts["server"];
  let agent: http.Agent;
  let connections: number;

  beforeEach(() => {
    agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  });

  afterEach(async () => {
    agent.destroy();
    await server[Symbol.asyncDispose]();
  });

  const ask = (): Promise<Got> => askServer(server.port, agent, "/", { method: "POST", body: "x" });

  async function start(handler: () => string | Promise<string>, options: Partial<ServerOptions> = {}): Promise<void> {
    const made = make({ port: 0, host: "127.0.0.1", ...options }, handler);
    server = made.server;
    connections = 0;
    made.node.on("connection", () => {
      connections += 1;
    });
    await server.listen();
  }

  test("serves many requests on one connection", async () => {
    await start(() => "ok");
    for (let round = 0; round < 5; round++) expect((await ask()).headers.connection).toBe("keep-alive");
  });

  test("ends connections with an answer when they have their age, and no request fails by that", async ({ signal }) => {
    await start(() => "ok", { maxConnectionAgeMs: 5 });
    const load = async (): Promise<void> => {
      while (connections < 40 && !signal.aborted) expect(await ask()).toMatchObject({ status: 200, body: "ok" });
    };
    await Promise.all(Array.from({ length: 4 }, load));
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
