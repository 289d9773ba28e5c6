import { getEventListeners } from "node:events";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { replicaAsker } from "../../../../src/mac-pool/inspection/rest/ask-replica.ts";
import { Authority, type KeyPair } from "../../../cluster/control-plane/authority.ts";

const HOST = "127.0.0.1";
const credentials = { current: async () => ({ tls: {}, headers: { authorization: "Bearer own" } }) };

async function answerOf(
  serving: KeyPair,
  own: KeyPair,
  listener: RequestListener,
  signal = AbortSignal.timeout(5_000),
): Promise<unknown> {
  const server = createServer(serving, listener);
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  try {
    const ask = replicaAsker(credentials as never, { current: () => own, onChange: () => () => {} });
    const { port } = server.address() as AddressInfo;
    return await ask({ name: "two", host: HOST, port }, "/asked", signal);
  } finally {
    server.close();
  }
}

describe("a question to another replica", () => {
  it("carries the own token to who has the own certificate, and to nobody else", async () => {
    const authority = await Authority.create("ca");
    const [one, other] = await Promise.all(
      ["one", "other"].map((commonName) => authority.issue({ commonName, addresses: [HOST], usage: ["server"] })),
    );
    if (one === undefined || other === undefined) throw new Error("there are no certificates");
    const tokens: (string | undefined)[] = [];
    const listener: RequestListener = ({ headers, url }, answer) => {
      tokens.push(headers.authorization);
      answer.end(JSON.stringify({ url }));
    };
    expect(await answerOf(one, one, listener)).toEqual({ url: "/asked" });
    await expect(answerOf(other, one, listener)).rejects.toThrow("has another certificate");
    expect(tokens).toEqual(["Bearer own"]);
  });

  it("fails with the status of an answer that is none", async () => {
    const own = await (await Authority.create("ca")).issue({ commonName: "one", addresses: [HOST], usage: ["server"] });
    const refuse: RequestListener = (_request, answer) => void answer.writeHead(503).end();
    await expect(answerOf(own, own, refuse)).rejects.toThrow("status 503");
  });

  it("is not asked once its signal has aborted", async () => {
    const own = await (await Authority.create("ca")).issue({ commonName: "one", addresses: [HOST], usage: ["server"] });
    let asked = 0;
    const listener: RequestListener = (_request, answer) => {
      asked += 1;
      answer.end("{}");
    };
    await expect(answerOf(own, own, listener, AbortSignal.abort(new Error("too late")))).rejects.toThrow("too late");
    expect(asked).toBe(0);
  });

  it("leaves no listener on its signal, however it ends", async () => {
    const authority = await Authority.create("ca");
    const own = await authority.issue({ commonName: "one", addresses: [HOST], usage: ["server"] });
    const { signal } = new AbortController();
    const ask = replicaAsker(credentials as never, { current: () => own, onChange: () => () => {} });
    await answerOf(own, own, (_request, answer) => void answer.end("{}"), signal);
    await expect(ask({ name: "two", host: HOST, port: 1 }, "/asked", signal)).rejects.toThrow("ECONNREFUSED");
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});
