import { describe, expect, test } from "vitest";
import {
  ApiError,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isNotFound,
} from "../../../src/kube/client/api-error.ts";
import type { ConfigMap } from "../../../src/kube/client/built-in-kinds.ts";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { defineResource, RESOURCES } from "../../../src/kube/client/resource.ts";
import { client, failure, forEachTest, get, PATH, REF, replaceClient, server } from "../support/client-harness.ts";
import { configMap } from "../support/objects.ts";
import { statusObject } from "../support/scripted-server.ts";

forEachTest();

describe("verbs", () => {
  test("unknown fields survive every verb", async () => {
    const object = { ...configMap("a", "5"), spec: { odd: [{ nested: null }], "dotted.key": 1 } } as ConfigMap;
    const calls: [string, string, Promise<ConfigMap>][] = [
      ["GET", PATH, get()],
      ["POST", "/api/v1/namespaces/default/configmaps", client.create(RESOURCES.configMaps, object)],
      ["PUT", PATH, client.update(RESOURCES.configMaps, object)],
      ["PATCH", PATH, client.apply(RESOURCES.configMaps, object, { fieldManager: "m" })],
      ["PATCH", PATH, client.patch(RESOURCES.configMaps, REF, { type: "merge", body: object })],
    ];
    for (const [method, path, call] of calls) {
      const exchange = await server.next(method, path);
      if (exchange.body !== "") {
        expect(JSON.parse(exchange.body)).toEqual(object);
      }
      exchange.answer(200, object);
      expect(await call).toEqual(object);
    }
  });

  test("say what they want in path, query and content type", async () => {
    const object = configMap("a", "5");
    const seen: string[] = [];
    const play = async (call: Promise<unknown>) => {
      const exchange = await server.next("*");
      seen.push(`${exchange.method} ${exchange.path} ${exchange.headers["content-type"] ?? "-"}`);
      exchange.answer(200, object);
      await call;
    };
    const { configMaps, nodes, serviceAccounts } = RESOURCES;
    await play(client.create(configMaps, object, { dryRun: true, fieldManager: "m", fieldValidation: "Strict" }));
    await play(client.update(nodes, { metadata: { name: "n:1" } }, { subresource: "status" }));
    await play(client.patch(configMaps, REF, { type: "json", ops: [{ op: "remove", path: "/data" }] }));
    await play(client.patch(configMaps, REF, { type: "strategic", body: {} }, { subresource: "status" }));
    await play(client.apply(configMaps, object, { fieldManager: "me", force: true, dryRun: true }));
    await play(client.delete(configMaps, REF));
    await play(client.createSubresource(serviceAccounts, REF, "token", { spec: {} }));
    expect(seen).toEqual([
      "POST /api/v1/namespaces/default/configmaps?dryRun=All&fieldManager=m&fieldValidation=Strict application/json",
      "PUT /api/v1/nodes/n%3A1/status application/json",
      `PATCH ${PATH} application/json-patch+json`,
      `PATCH ${PATH}/status application/strategic-merge-patch+json`,
      `PATCH ${PATH}?dryRun=All&fieldManager=me&force=true application/apply-patch+yaml`,
      `DELETE ${PATH} application/json`,
      "POST /api/v1/namespaces/default/serviceaccounts/a/token application/json",
    ]);
  });

  test("delete carries its preconditions", async () => {
    const deleting = client.delete(RESOURCES.configMaps, REF, {
      uid: "u",
      resourceVersion: "5",
      propagationPolicy: "Background",
      gracePeriodSeconds: 0,
    });
    const exchange = await server.next("DELETE");
    expect(JSON.parse(exchange.body)).toEqual({
      apiVersion: "v1",
      kind: "DeleteOptions",
      preconditions: { uid: "u", resourceVersion: "5" },
      propagationPolicy: "Background",
      gracePeriodSeconds: 0,
    });
    exchange.answer(200, { kind: "Status", apiVersion: "v1", status: "Success" });
    await deleting;
  });

  test("lists follow continue tokens, and pages show them one by one", async () => {
    const listing = client.list(RESOURCES.configMaps, { namespace: "x", labelSelector: "a=b,c in (d)", limit: 1 });
    const first = await server.next(
      "GET",
      "/api/v1/namespaces/x/configmaps?labelSelector=a%3Db%2Cc%20in%20(d)&limit=1",
    );
    first.list([configMap("a", "1")], "9", "t");
    (await server.next("GET", /continue=t$/)).list([configMap("b", "2")], "9");
    const { items, resourceVersion } = await listing;
    expect(items.map((item) => item.metadata.name)).toEqual(["a", "b"]);
    expect(resourceVersion).toBe("9");
  });

  test("a list whose items are null is empty", async () => {
    const listing = client.list(RESOURCES.configMaps);
    (await server.next("GET")).answer(200, { kind: "ConfigMapList", metadata: { resourceVersion: "3" }, items: null });
    expect(await listing).toEqual({ items: [], resourceVersion: "3" });
  });

  test("an object without name, of another kind or without namespace never reaches the wire", async () => {
    const { configMaps } = RESOURCES;
    await expect(client.create(configMaps, { metadata: { namespace: "default" } })).rejects.toThrow(
      "needs metadata.name",
    );
    await expect(client.update(configMaps, { metadata: { namespace: "default" } })).rejects.toThrow("metadata.name");
    await expect(client.create(configMaps, { metadata: { name: "a" } })).rejects.toThrow("no metadata.namespace");
    await expect(client.create(configMaps, { kind: "Secret", metadata: REF })).rejects.toThrow("is a Secret");
    await expect(client.get(configMaps, { name: "a" })).rejects.toThrow("needs a namespace, and none was given");
    await expect(client.get(configMaps, { ...REF, name: "../secrets/b" })).rejects.toThrow("cannot be the name");
    await expect(client.get(configMaps, { ...REF, name: "" })).rejects.toThrow("needs a name");
    await expect(client.delete(configMaps, { name: "a" })).rejects.toThrow("namespace");
    await expect(client.create(configMaps, { kind: "", metadata: REF })).rejects.toThrow("is a , but");
    expect(server.pending).toEqual([]);
  });

  test("a reference whose name got lost never reaches the wire: for all objects instead of one", async () => {
    const { configMaps, serviceAccounts } = RESOURCES;
    const lost = { namespace: "default", name: undefined as unknown as string };
    await expect(client.get(configMaps, lost)).rejects.toThrow("A single ConfigMap needs a name.");
    await expect(client.delete(configMaps, lost)).rejects.toThrow("needs a name");
    await expect(client.patch(configMaps, lost, { type: "merge", body: {} })).rejects.toThrow("needs a name");
    await expect(client.createSubresource(serviceAccounts, lost, "token", {})).rejects.toThrow("needs a name");
    expect(() => defineResource("v1", "", "things", true)).toThrow("needs apiVersion, kind and plural");
    expect(server.pending).toEqual([]);
  });

  test("apiVersion and kind are sent as the resource says, also where the object holds undefined for them", async () => {
    const creating = client.create(RESOURCES.configMaps, { apiVersion: undefined, kind: undefined, metadata: REF });
    const exchange = await server.next("POST");
    expect(JSON.parse(exchange.body)).toEqual({ apiVersion: "v1", kind: "ConfigMap", metadata: REF });
    exchange.answer(201, configMap("a", "1"));
    await creating;
  });

  test("raw gives any answer as it is", async () => {
    const version = client.raw("GET", "/version", { query: { timeout: "1s" } });
    const exchange = await server.next("GET", "/version?timeout=1s");
    expect(exchange.headers["user-agent"]).toBe("suite/1");
    exchange.answer(418, "short and stout", { "content-type": "text/plain" });
    expect(await version).toMatchObject({ status: 418, body: "short and stout" });
  });
});

describe("refusals", () => {
  test.each([
    [404, "NotFound", isNotFound],
    [403, "Forbidden", isForbidden],
    [409, "Conflict", isConflict],
    [409, "AlreadyExists", isAlreadyExists],
    [410, "Expired", isGone],
    [422, "Invalid", isInvalid],
  ])("%i %s becomes an ApiError with reason, message and details", async (code, reason, is) => {
    const getting = failure(get());
    const body = {
      ...statusObject(code, reason, "the message"),
      details: { name: "a", causes: [{ field: "spec.x" }] },
    };
    (await server.next("GET")).answer(code, body);
    const error = await getting;
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: code, reason, message: "the message", request: `GET ${PATH}` });
    expect((error as ApiError).details?.causes?.[0]?.field).toBe("spec.x");
    const matching = [isNotFound, isForbidden, isConflict, isAlreadyExists, isGone, isInvalid].filter((one) =>
      one(error),
    );
    expect(matching).toEqual([is]);
  });

  test("a page of a proxy in between is quoted", async () => {
    const getting = failure(get());
    (await server.next("GET")).answer(502, "<html>Bad Gateway</html>", { "content-type": "text/html" });
    expect(await getting).toMatchObject({
      status: 502,
      message: "the server answered 502: <html>Bad Gateway</html>",
    });
  });

  test("a success that is not JSON is a ConnectionError", async () => {
    const getting = failure(get());
    (await server.next("GET")).answer(200, "<html>login</html>");
    expect(await getting).toMatchObject({ name: "ConnectionError", message: expect.stringContaining("not JSON") });
  });

  test("429 with Retry-After is waited for and repeated, also for writes", async () => {
    const creating = client.create(RESOURCES.configMaps, configMap("a", "1"));
    (await server.next("POST")).status(429, "TooManyRequests", "slow down", { "retry-after": "0" });
    (await server.next("POST")).status(503, "ServiceUnavailable", "starting", { "retry-after": "0" });
    (await server.next("POST")).answer(201, configMap("a", "2"));
    expect((await creating).metadata.resourceVersion).toBe("2");
  });

  test("429 that goes on for ever is given to the caller after bounded repetitions", async () => {
    const getting = failure(get());
    for (let attempt = 0; attempt < 9; attempt++) {
      (await server.next("GET")).status(429, "TooManyRequests", "slow down", { "retry-after": "0" });
    }
    expect(await getting).toMatchObject({ status: 429, reason: "TooManyRequests" });
  });

  test("a Retry-After beyond the deadline is not waited for", async () => {
    const getting = failure(get({ timeoutMs: 5_000 }));
    (await server.next("GET")).status(429, "TooManyRequests", "slow down", { "retry-after": "20" });
    expect(await getting).toMatchObject({ status: 429, retryAfterMs: 20_000 });
  });

  test("a 500 without Retry-After is not repeated", async () => {
    const getting = failure(get());
    (await server.next("GET")).status(500, "InternalError", "boom");
    expect(await getting).toMatchObject({ status: 500, message: "boom" });
    expect(server.pending).toEqual([]);
  });

  test("401 reads the credentials anew and repeats once", async () => {
    const credentials = server.credentials(() => ({ authorization: `Bearer t${credentials.refreshed}` }));
    replaceClient(new KubeClient({ credentials }));
    const getting = get();
    const first = await server.next("GET");
    expect(first.headers.authorization).toBe("Bearer t0");
    first.status(401, "Unauthorized");
    const second = await server.next("GET");
    expect(second.headers.authorization).toBe("Bearer t1");
    second.answer(200, configMap("a", "5"));
    await getting;
    const again = failure(get());
    (await server.next("GET")).status(401, "Unauthorized");
    (await server.next("GET")).status(401, "Unauthorized");
    expect(await again).toMatchObject({ status: 401 });
  });
});
