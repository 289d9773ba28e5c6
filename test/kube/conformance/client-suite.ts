import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { isAlreadyExists, isConflict, isNotFound } from "../../../src/kube/client/api-error.ts";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { WIDGETS } from "../support/real-api-server.ts";
import type { Backend, Widget } from "./backend.ts";
import * as faults from "./faults.ts";
import { type Fault, Front, type Kind } from "./front.ts";

const namespace = "default";
const ODD = { size: 1, nested: { list: [{ a: null }, 2], "dotted.key/x": "ä€😀" }, float: 1.5, empty: {} };

/** Faults that a call gets over without its caller noticing. */
const HARMLESS: readonly (readonly [name: string, kinds: readonly Kind[], fault: Fault, times: number])[] = [
  ["a reset before the headers of a read", ["read"], faults.resetBeforeHeaders, 2],
  ["429 with Retry-After", ["read", "write"], faults.refuse(429, "TooManyRequests", { "retry-after": "0" }), 3],
  ["503 with Retry-After", ["read", "write"], faults.refuse(503, "ServiceUnavailable", { "retry-after": "0" }), 3],
  ["401, then a new token", ["read", "write"], faults.refuse(401, "Unauthorized"), 1],
  ["gzip", ["read"], faults.compressed, 1],
  ["a slow answer", ["read", "write"], faults.slowly(64, 1), 2],
  ["a connection that ends after each answer", ["read", "write"], faults.closeAfterAnswer, 3],
];

/** What a client must do, whatever API server is behind the front. */
export function clientSuite(name: string, start: () => Promise<Backend>): void {
  describe(`client, ${name}:`, () => {
    let backend: Backend;
    let front: Front;
    let client: KubeClient;
    let ref: { namespace: string; name: string };
    let tests = 0;

    beforeAll(async () => {
      backend = await start();
    });

    afterAll(async () => backend?.[Symbol.asyncDispose]());

    beforeEach(async () => {
      front = await Front.start(backend);
      client = new KubeClient({ credentials: front.credentials, random: () => 0 });
      ref = { namespace, name: `client-${tests++}` };
    });

    afterEach(async () => {
      await client[Symbol.asyncDispose]();
      await front[Symbol.asyncDispose]();
    });

    const failure = (promise: Promise<unknown>) =>
      promise.then(
        () => undefined,
        (error: unknown) => error,
      );
    const create = (spec: object = { size: 1 }) =>
      client.create(WIDGETS, { metadata: { ...ref, labels: { of: ref.name } }, spec: spec as Widget["spec"] & object });

    test("unknown fields survive create, get, list, watch, update, patch and apply", async () => {
      const created = await create(ODD);
      expect(created.spec).toEqual(ODD);
      expect((await client.get(WIDGETS, ref)).spec).toEqual(ODD);
      const selection = { namespace, labelSelector: `of=${ref.name}` };
      const { items, resourceVersion } = await client.list(WIDGETS, selection);
      expect(items.map((item) => [item.kind, item.spec])).toEqual([["Widget", ODD]]);
      const updated = await client.update(WIDGETS, { ...created, spec: { ...ODD, more: [1] } });
      expect(updated.spec).toEqual({ ...ODD, more: [1] });
      const watching = client.watch(WIDGETS, { ...selection, resourceVersion, signal: new AbortController().signal });
      const first = await watching.next();
      expect(first.value).toMatchObject({ type: "MODIFIED", object: { spec: { ...ODD, more: [1] } } });
      await watching.return();
      const patched = await client.patch(WIDGETS, ref, { type: "merge", body: { spec: { size: 2, empty: null } } });
      const { empty: _, ...rest } = ODD;
      expect(patched.spec).toEqual({ ...rest, more: [1], size: 2 });
      const applied = await client.apply(
        WIDGETS,
        { metadata: ref, spec: { added: { odd: [true] } } },
        { fieldManager: "suite" },
      );
      expect(applied.spec).toEqual({ ...rest, more: [1], size: 2, added: { odd: [true] } });
      await client.delete(WIDGETS, ref, { uid: created.metadata.uid });
      expect(isNotFound(await failure(client.get(WIDGETS, ref)))).toBe(true);
    });

    test("status is written apart from the rest", async () => {
      const created = await create();
      await client.update(
        WIDGETS,
        { ...created, spec: { size: 9 }, status: { ready: true } },
        { subresource: "status" },
      );
      const { spec, status } = await client.get(WIDGETS, ref);
      expect([spec, status]).toEqual([{ size: 1 }, { ready: true }]);
    });

    test("refusals are told apart: exists, changed meanwhile, another object, not there", async () => {
      const first = await create();
      expect(isAlreadyExists(await failure(create()))).toBe(true);
      await client.update(WIDGETS, { ...first, spec: { size: 2 } });
      expect(isConflict(await failure(client.update(WIDGETS, { ...first, spec: { size: 3 } })))).toBe(true);
      const stale = { resourceVersion: first.metadata.resourceVersion };
      expect(isConflict(await failure(client.delete(WIDGETS, ref, stale)))).toBe(true);
      expect(isConflict(await failure(client.delete(WIDGETS, ref, { uid: "another" })))).toBe(true);
      await client.delete(WIDGETS, ref);
      expect(isNotFound(await failure(client.delete(WIDGETS, ref)))).toBe(true);
    });

    test("a dry run changes nothing", async () => {
      await client.create(WIDGETS, { metadata: ref, spec: { size: 1 } }, { dryRun: true });
      expect(isNotFound(await failure(client.get(WIDGETS, ref)))).toBe(true);
      const created = await create();
      await client.patch(WIDGETS, ref, { type: "merge", body: { spec: { size: 5 } } }, { dryRun: true });
      expect((await client.get(WIDGETS, ref)).metadata.resourceVersion).toBe(created.metadata.resourceVersion);
    });

    test("pages follow each other", async () => {
      const labels = { pages: ref.name };
      for (let index = 0; index < 5; index++) {
        await client.create(WIDGETS, { metadata: { namespace, name: `${ref.name}-${index}`, labels }, spec: {} });
      }
      const sizes: number[] = [];
      const options = { namespace, labelSelector: `pages=${ref.name}`, limit: 2 };
      for await (const page of client.pages(WIDGETS, options)) {
        sizes.push(page.items.length);
      }
      expect(sizes).toEqual([2, 2, 1]);
    });

    test.each(HARMLESS)("%s is got over", async (_name, kinds, fault, times) => {
      const created = await create();
      for (let time = 0; time < times; time++) {
        front.once(kinds, fault);
      }
      expect((await client.get(WIDGETS, ref)).metadata.uid).toBe(created.metadata.uid);
      await client.patch(WIDGETS, ref, { type: "merge", body: { spec: { size: 4 } } });
      expect((await client.get(WIDGETS, ref)).spec).toMatchObject({ size: 4 });
      expect(front.pending).toBe(0);
    });

    test("a write whose answer is lost is not repeated, and says that it may have been done; it was", async () => {
      front.once(["write"], faults.loseAnswer);
      expect(await failure(create())).toMatchObject({ name: "ConnectionError", written: true });
      expect(front.count("write")).toBe(1);
      expect((await client.get(WIDGETS, ref)).spec).toEqual({ size: 1 });
    });

    test("a write that was reset is not repeated either", async () => {
      front.once(["write"], faults.resetBeforeHeaders);
      expect(await failure(create())).toMatchObject({ name: "ConnectionError", written: true });
      expect(front.count("write")).toBe(1);
    });

    test.each([
      ["403", faults.refuse(403, "Forbidden"), { status: 403, reason: "Forbidden" }],
      ["500", faults.refuse(500, "InternalError"), { status: 500 }],
      ["a page of a proxy", faults.badGateway, { status: 502, message: expect.stringContaining("Bad Gateway") }],
      ["an answer that is not JSON", faults.notJson, { name: "ConnectionError", written: true }],
    ])("%s is given to the caller", async (_name, fault, expected) => {
      front.once(["read"], fault);
      expect(await failure(client.get(WIDGETS, ref))).toMatchObject(expected);
    });

    test("silence ends with the deadline", async () => {
      front.once(["read"], faults.silence);
      expect(await failure(client.get(WIDGETS, ref, { timeoutMs: 100 }))).toMatchObject({ code: "ETIMEDOUT" });
    });

    test("a certificate that changed is no trouble when the CA is renewed with it", async () => {
      await create();
      await front.changeCertificate();
      expect((await client.get(WIDGETS, ref)).metadata.name).toBe(ref.name);
    });
  });
}
