import { Agent, IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { Health, healthServer } from "../../../src/kube/server/health.ts";
import { askServer } from "../support/ask-server.ts";
import { Crowd, HALF_SENT } from "../support/crowd.ts";

/** Status of an answer to a client with this address. */
function statusFor(path: string, remoteAddress: string, metrics?: Registry): Promise<number> {
  const { server } = healthServer(new Health(), metrics, { port: 0 });
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: remoteAddress });
  const request = new IncomingMessage(socket);
  Object.assign(request, { method: "GET", url: path });
  const response = new ServerResponse(request);
  return new Promise((resolve) => {
    response.end = () => {
      resolve(response.statusCode);
      return response;
    };
    server.emit("request", request, response);
  });
}

describe("the port for probes", () => {
  it.each(["127.0.0.1", "::1", "::ffff:127.0.0.1"])("shows metrics to the pod itself, from %s", async (address) => {
    expect(await statusFor("/metrics", address, new Registry())).toBe(200);
  });

  it("shows none on the node's network, where loopback belongs to everybody", async () => {
    expect(await statusFor("/metrics", "127.0.0.1")).toBe(403);
    expect(await statusFor("/healthz", "127.0.0.1")).toBe(200);
  });

  it.each(["10.0.0.7", "::ffff:10.0.0.7", "fd00::1", "::10", ""])(
    "shows none to others, as from %s",
    async (address) => {
      expect(await statusFor("/metrics", address, new Registry())).toBe(403);
      expect(await statusFor("/healthz", address)).toBe(200);
    },
  );

  it.each(Object.entries(HALF_SENT))(
    "answers, and keeps 100 connections, while one client opens 300 with %s",
    async (_, sent) => {
      await using server = healthServer(new Health(), undefined, { port: 0, host: "127.0.0.1" });
      const port = await server.listen();
      using crowd = new Crowd();
      await crowd.connect({ port, count: 300, sent });
      expect(await askServer(port, new Agent(), "/healthz")).toMatchObject({ status: 200 });
      await expect.poll(() => crowd.open).toBeLessThanOrEqual(100);
    },
  );
});
