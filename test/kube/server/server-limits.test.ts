import { once } from "node:events";
import * as http from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { ServerOptions } from "../../../src/kube/server/guarded-server.ts";
import { Authority } from "../../cluster/control-plane/authority.ts";
import { eventually } from "../../support/eventually.ts";
import { askServer } from "../support/ask-server.ts";
import { POST_SERVERS, type Posts } from "../support/post-servers.ts";

describe.each(POST_SERVERS)("%s", (_, make) => {
  let server: Posts["server"];
  /** Requests whose head has arrived. */
  let begun = 0;
  /** Requests whose handler is at work. */
  let atWork = 0;
  const sockets: Socket[] = [];
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    agent.destroy();
    await server[Symbol.asyncDispose]();
  });

  /** Requests are answered once `ready` resolves. */
  async function start(options: Partial<ServerOptions>, ready?: Promise<void>): Promise<void> {
    const made = make({ port: 0, host: "127.0.0.1", ...options }, async (body) => {
      atWork += 1;
      await ready;
      return String(body.length);
    });
    server = made.server;
    begun = atWork = 0;
    made.node.on("request", () => {
      begun += 1;
    });
    await server.listen();
  }

  /** A client of its own address on the loopback, with everything that it is sent. */
  async function open(
    localAddress = "127.0.0.1",
  ): Promise<{ socket: Socket; received: () => string; closed: Promise<void> }> {
    const socket = connect({ port: server.port, host: "127.0.0.1", localAddress });
    sockets.push(socket);
    let received = "";
    socket.on("data", (data) => {
      received += data;
    });
    socket.on("error", () => {});
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    await once(socket, "connect");
    return { socket, received: () => received, closed };
  }

  const begin = (length: number): string => `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`;
  const ask = (body = "x") => askServer(server.port, agent, "/", { method: "POST", body });

  describe("bodies that are too much together", () => {
    test("the longest incomplete one gives way, and short ones go on", async () => {
      await start({ maxBodyBytes: 1_000, maxBytes: 1_500 });
      const small = await open();
      small.socket.write(begin(10) + "x".repeat(9));
      const [first, second] = [await open(), await open()];
      first.socket.write(begin(1_000) + "x".repeat(900));
      second.socket.write(begin(1_000) + "x".repeat(800));
      const longest = await Promise.race([first, second].map(async (one) => once(one.socket, "data").then(() => one)));
      expect(longest.received()).toMatch(/^HTTP\/1\.1 503 .*too much memory: try again\n$/s);
      await longest.closed;
      small.socket.write("x");
      await eventually("the small one is answered", () => small.received().endsWith("10"));
      expect((await ask()).body).toBe("1");
    });

    test("a body counts no longer when it was answered", async () => {
      await start({ maxBodyBytes: 1_000, maxBytes: 1_500 });
      for (let i = 0; i < 5; i++) {
        const answer = await ask("x".repeat(1_000));
        expect(answer.body).toBe("1000");
      }
    });

    test("a body in pieces, of characters that take several bytes", async () => {
      await start({});
      const { socket, received } = await open();
      const text = Buffer.from("ü");
      socket.write(begin(2));
      socket.write(text.subarray(0, 1));
      await new Promise((resolve) => setImmediate(resolve));
      socket.write(text.subarray(1));
      await eventually("it is answered", () => received().endsWith("\r\n\r\n1"));
    });
  });

  test("one request more than may be under way is answered 503 without its body", async () => {
    const ready = Promise.withResolvers<void>();
    await start({ maxRequests: 2 }, ready.promise);
    const halfSent = [await open(), await open()];
    for (const { socket } of halfSent) socket.write(begin(2));
    const waiting = [await open(), await open()];
    for (const { socket } of waiting) socket.write(`${begin(2)}xx`);
    await eventually("two are under way", () => atWork === 2);
    const refused = await open();
    refused.socket.write(begin(1_000));
    await refused.closed;
    expect(refused.received()).toMatch(/^HTTP\/1.1 503 .*too many requests are under way: try again\n$/s);
    ready.resolve();
    await eventually("both are answered", () => waiting.every(({ received }) => received().endsWith("2")));
  });

  describe("many connections", () => {
    test("the address that opens most loses its own", async () => {
      await start({ maxConnections: 4 });
      const quiet = await open("127.0.0.2");
      const flood = [];
      for (let i = 0; i < 20; i++) flood.push(await open("127.0.0.3"));
      await Promise.all(flood.slice(0, 17).map(({ closed }) => closed));
      quiet.socket.write(`${begin(1)}x`);
      await eventually("the other address is served", () => quiet.received().endsWith("1"));
    });

    test("one with a request under way stays, and a half-sent request is none", async () => {
      const ready = Promise.withResolvers<void>();
      await start({ maxConnections: 2 }, ready.promise);
      const busy = await open();
      busy.socket.write(`${begin(2)}xx`);
      await eventually("its request is under way", () => atWork === 1);
      const halfSent = [];
      for (let i = 0; i < 5; i++) {
        const one = await open();
        one.socket.write(`${begin(2)}x`);
        await eventually("its head has arrived", () => begun === i + 2);
        halfSent.push(one);
      }
      await Promise.all(halfSent.slice(0, 4).map(({ closed }) => closed));
      ready.resolve();
      await eventually("it is answered", () => busy.received().endsWith("2"));
    });
  });

  test("a client that opens a connection and does not shake hands is cut off", async () => {
    const authority = await Authority.create("test");
    const pair = await authority.issue({ commonName: "s", addresses: ["127.0.0.1"], usage: ["server"] });
    await start({ requestTimeoutMs: 50, tls: { current: () => pair, onChange: () => () => {} } });
    const { closed } = await open();
    await closed;
  });

  test("a body above the limit is 413, announced or not, and the server goes on", async () => {
    await start({ maxBodyBytes: 1_000 });
    expect((await ask("x".repeat(1_000))).body).toBe("1000");
    expect((await ask("x".repeat(1_001))).status).toBe(413);
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
    expect((await ask()).body).toBe("1");
  });

  test.each([
    ["its head", "POST / HTTP/1.1\r\nhost: x\r\n"],
    ["its body", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nx"],
  ])("a client that stops in the middle of %s is cut off", async (_, begin) => {
    await start({ requestTimeoutMs: 50 });
    const socket = connect(server.port, "127.0.0.1");
    socket.write(begin);
    const [answer] = await once(socket, "data");
    expect(String(answer)).toMatch(/^HTTP\/1.1 408/);
    await once(socket, "close");
  });
});
