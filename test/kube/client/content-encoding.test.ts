import { constants, createGzip, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { eventually } from "../../support/eventually.ts";
import { configMap } from "../support/objects.ts";
import { type Exchange, ScriptedServer } from "../support/scripted-server.ts";

const { configMaps } = RESOURCES;
const REF = { namespace: "default", name: "a" };
const GZIP = { "content-encoding": "gzip" };

let server: ScriptedServer;
let client: KubeClient;

beforeEach(async () => {
  server = await ScriptedServer.start();
  client = new KubeClient({ credentials: server.credentials() });
});

afterEach(async () => {
  await client[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const compressed = (object: object) => gzipSync(JSON.stringify(object));

/** Writes to the exchange through gzip, each text so that it can be read at once. */
function gzipped(exchange: Exchange): (text: string) => Promise<void> {
  const gzip = createGzip();
  gzip.on("data", (chunk: Buffer) => exchange.write(chunk));
  return async (text) => {
    gzip.write(text);
    await new Promise<void>((resolve) => gzip.flush(constants.Z_SYNC_FLUSH, resolve));
  };
}

const line = (name: string, version: string) =>
  `${JSON.stringify({ type: "ADDED", object: configMap(name, version) })}\n`;

describe("compressed answers", () => {
  test("are not asked for unless told, and understood when they come anyway", async () => {
    const getting = client.get(configMaps, REF);
    const exchange = await server.next("GET");
    expect(exchange.headers["accept-encoding"]).toBeUndefined();
    exchange.answer(200, compressed(configMap("a", "5")), GZIP);
    expect((await getting).metadata.name).toBe("a");
  });

  test("are asked for when told", async () => {
    client = new KubeClient({ credentials: server.credentials() });
    const listing = client.list(configMaps);
    const exchange = await server.next("GET");
    expect(exchange.headers["accept-encoding"]).toBe("gzip");
    const list = { metadata: { resourceVersion: "9" }, items: [configMap("a", "5")] };
    exchange.answer(200, compressed(list), GZIP);
    expect((await listing).items).toHaveLength(1);
  });

  test("of refusals are read too", async () => {
    const getting = client.get(configMaps, REF);
    const status = { kind: "Status", reason: "NotFound", message: "no such thing", code: 404 };
    (await server.next("GET")).answer(404, compressed(status), GZIP);
    await expect(getting).rejects.toThrow("no such thing");
  });

  test("of a watch give each event when it comes, and leaving closes the connection", async () => {
    const names: string[] = [];
    const stop = new AbortController();
    const watching = (async () => {
      for await (const event of client.watch(configMaps, { signal: stop.signal })) {
        names.push(event.object.metadata.name ?? "");
        if (names.length === 2) {
          return;
        }
      }
    })();
    const exchange = (await server.next("GET")).open(GZIP);
    const send = gzipped(exchange);
    await send(line("a", "1"));
    await eventually("the first event", () => names.length === 1);
    await send(line("b", "2"));
    await watching;
    expect(names).toEqual(["a", "b"]);
    await eventually("the connection is given up", () => exchange.closed);
  });

  test("that are cut or are no gzip at all are a ConnectionError", async () => {
    for (const body of [compressed(configMap("a", "5")).subarray(0, 30), Buffer.from("plain text")]) {
      const getting = client.get(configMaps, REF);
      const outcome = getting.catch((error: unknown) => error);
      for (let attempt = 0; attempt < 3; attempt++) {
        (await server.next("GET")).answer(200, body, GZIP);
      }
      expect(await outcome).toMatchObject({ name: "ConnectionError", written: true });
    }
  });

  test("in an encoding nobody asked for are a ConnectionError that names it", async () => {
    const creating = client.create(configMaps, configMap("a", "1")).catch((error: unknown) => error);
    (await server.next("POST")).answer(201, "?", { "content-encoding": "br" });
    expect(await creating).toMatchObject({
      name: "ConnectionError",
      message: expect.stringContaining("encoded as br"),
    });
  });
});
