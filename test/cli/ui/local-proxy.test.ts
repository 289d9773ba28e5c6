import { once } from "node:events";
import { request } from "node:http";
import { afterEach, beforeEach, expect, it } from "vitest";
import { LocalProxy, type Upstream } from "../../../src/cli/ui/local-proxy.ts";

const SECRET = "A".repeat(43);

type Sent = Parameters<Upstream["send"]>;
let sent: Sent[];
let answer: () => Promise<Awaited<ReturnType<Upstream["send"]>>>;
let proxy: LocalProxy;

beforeEach(async () => {
  sent = [];
  answer = async () => ({ status: 200, headers: {}, body: (async function* () {})() });
  const upstream: Upstream = {
    send: (...args) => {
      sent.push(args);
      return answer();
    },
  };
  proxy = await LocalProxy.listen(upstream, { secret: SECRET, port: 0 });
});
afterEach(() => proxy[Symbol.asyncDispose]());

async function get(path: string, headers: Record<string, string> = {}, method = "GET") {
  const asked = request({ host: "127.0.0.1", port: proxy.port, path, headers, method }).end();
  const [response] = await once(asked, "response");
  let body = "";
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode, headers: response.headers, body };
}

it("passes on what the pool and the browser need, and nothing that is about the user or the API server", async () => {
  answer = async () => ({
    status: 200,
    headers: { "content-type": "application/json", etag: '"7"', "audit-id": "x", "set-cookie": "a=b", server: "k8s" },
    body: (async function* () {
      yield Buffer.from("{}");
    })(),
  });
  const { status, headers, body } = await get(`/${SECRET}/api/v1/claims?limit=5`, {
    accept: "application/json",
    "if-none-match": '"6"',
    cookie: "other=1",
    authorization: "Bearer of-the-page",
    "macpool-authorization": "Bearer of-the-page",
    "x-forwarded-for": "1.2.3.4",
  });
  expect({ status, body }).toEqual({ status: 200, body: "{}" });
  expect(headers).toMatchObject({ etag: '"7"', "referrer-policy": "no-referrer", "x-frame-options": "DENY" });
  expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(["audit-id"]));
  expect(headers["set-cookie"]).toBeUndefined();
  expect(sent.map(([path, passed]) => [path, passed])).toEqual([
    ["/api/v1/claims?limit=5", { accept: "application/json", "if-none-match": '"6"' }],
  ]);
});

it.each([
  ["no secret", "/", {}, "GET", 403],
  ["another secret", `/${"B".repeat(43)}/`, {}, "GET", 403],
  ["a part of the secret", `/${SECRET.slice(1)}/`, {}, "GET", 403],
  ["the name of another host", `/${SECRET}/`, { host: "rebound.example" }, "GET", 421],
  ["another port", `/${SECRET}/`, { host: "127.0.0.1:1" }, "GET", 421],
  ["a page of another origin", `/${SECRET}/`, { origin: "http://evil.example" }, "GET", 403],
  ["a page without an origin", `/${SECRET}/`, { origin: "null" }, "GET", 403],
  ["a write", `/${SECRET}/api/v1/claims`, {}, "POST", 405],
  ["a way out", `/${SECRET}/../../../secrets`, {}, "GET", 404],
])("asks the pool nothing for a request with %s", async (_, path, headers, method, status) => {
  expect((await get(path, headers as Record<string, string>, method)).status).toBe(status);
  expect(sent).toEqual([]);
});

it("says what is wrong when the API server can't be asked", async () => {
  answer = () => Promise.reject(new Error("connect ECONNREFUSED"));
  expect(await get(`/${SECRET}/`)).toMatchObject({
    status: 502,
    body: "The API server can't be asked: connect ECONNREFUSED\n",
  });
});

it("ends the question to the pool when the browser goes", async () => {
  answer = async () => ({
    status: 200,
    headers: { "content-type": "text/event-stream" },
    body: (async function* () {
      yield Buffer.from(": here\n\n");
      await new Promise(() => {});
    })(),
  });
  const asked = request({ host: "127.0.0.1", port: proxy.port, path: `/${SECRET}/api/v1/claims?watch=true` }).end();
  const [response] = await once(asked, "response");
  await once(response, "data");
  const signal = sent[0]?.[2];
  expect(signal?.aborted).toBe(false);
  const gone = once(signal as AbortSignal, "abort");
  response.destroy();
  await gone;
});
