import { beforeAll, describe, expect, test } from "vitest";
import { isAlreadyExists, isConflict, isForbidden, isInvalid, isNotFound } from "../../../src/kube/client/api-error.ts";
import { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { credentialsFromKubeconfig } from "../../../src/kube/credentials/credentials.ts";
import { EventRecorder } from "../../../src/kube/events/event-recorder.ts";
import { client, controlPlane } from "../../support/api-server-harness.ts";
import { eventually } from "../../support/eventually.ts";
import { share } from "../../support/share.ts";
import { installWidgets, WIDGETS, type Widget } from "../support/real-api-server.ts";

const { configMaps } = RESOURCES;
const namespace = "default";

beforeAll(async () => {
  await installWidgets(client);
});

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error("expected a failure");
    },
    (error) => error,
  );
}

describe("against a real API server", () => {
  test("no field is lost by any verb, whoever defined it", async () => {
    const odd = { size: 1, nested: { list: [{ a: null }, 2], "dotted.key/x": "y" }, float: 1.5 };
    const created = await client.create(WIDGETS, { metadata: { namespace, name: "odd" }, spec: odd });
    expect(created).toMatchObject({ apiVersion: "test.example.com/v1", kind: "Widget", spec: odd });
    const updated = await client.update(WIDGETS, { ...created, spec: { ...odd, more: true } } as Widget);
    expect(updated.spec).toEqual({ ...odd, more: true });
    const patched = await client.patch(WIDGETS, created.metadata as { name: string }, {
      type: "merge",
      body: { spec: { size: 2 } },
    });
    expect(patched.spec).toEqual({ ...odd, more: true, size: 2 });
    const ops = [{ op: "add" as const, path: "/spec/nested/dotted.key~1x", value: "z" }];
    await client.patch(WIDGETS, { namespace, name: "odd" }, { type: "json", ops });
    const applied = await client.apply(
      WIDGETS,
      { metadata: { namespace, name: "odd" }, spec: { added: [1, "two", { three: 3 }] } },
      { fieldManager: "suite" },
    );
    expect(applied.spec).toMatchObject({ size: 2, nested: { "dotted.key/x": "z" }, added: [1, "two", { three: 3 }] });
    expect(await client.get(WIDGETS, { namespace, name: "odd" })).toEqual(applied);
    const { items } = await client.list(WIDGETS, { namespace });
    expect(items).toEqual([applied]);
  });

  test("status is a subresource of its own", async () => {
    const created = await client.create(WIDGETS, { metadata: { namespace, name: "s" }, spec: { size: 1 } });
    await client.update(WIDGETS, { ...created, spec: { size: 9 }, status: { ready: true } } as Widget, {
      subresource: "status",
    });
    const read = await client.get(WIDGETS, { namespace, name: "s" });
    expect([read.spec, read.status]).toEqual([{ size: 1 }, { ready: true }]);
  });

  test("refusals are told apart", async () => {
    const object = { metadata: { namespace, name: "twice" } };
    const first = await client.create(configMaps, object);
    expect(isAlreadyExists(await failure(client.create(configMaps, object)))).toBe(true);
    await client.update(configMaps, { ...first, data: { a: "1" } });
    expect(isConflict(await failure(client.update(configMaps, { ...first, data: { a: "2" } })))).toBe(true);
    expect(isNotFound(await failure(client.get(configMaps, { namespace, name: "never" })))).toBe(true);
    expect(isInvalid(await failure(client.create(configMaps, { metadata: { namespace, name: "Bad_Name" } })))).toBe(
      true,
    );
    const nobody = new KubeClient({
      credentials: await credentialsFromKubeconfig(await controlPlane.userKubeconfig("nobody")),
    });
    const forbidden = await failure(nobody.list(configMaps));
    expect(isForbidden(forbidden)).toBe(true);
    expect((forbidden as Error).message).toContain('User "nobody" cannot list resource "configmaps"');
    await nobody[Symbol.asyncDispose]();
  });

  test("a strict write refuses unknown fields, a dry run changes nothing", async () => {
    const object = { metadata: { namespace, name: "strict" }, unknownField: 1 };
    const error = await failure(client.create(configMaps, object, { fieldValidation: "Strict" }));
    expect((error as Error).message).toContain('unknown field "unknownField"');
    expect((await client.create(configMaps, object, { dryRun: true })).metadata.uid).toBeDefined();
    expect(isNotFound(await failure(client.get(configMaps, { namespace, name: "strict" })))).toBe(true);
  });

  test("a deletion can demand the object it means", async () => {
    const ref = { namespace, name: "precious" };
    const { metadata } = await client.create(configMaps, { metadata: ref });
    expect(
      isConflict(await failure(client.delete(configMaps, ref, { uid: "00000000-0000-0000-0000-000000000000" }))),
    ).toBe(true);
    await client.update(configMaps, { metadata: ref, data: { a: "1" } });
    const stale = failure(client.delete(configMaps, ref, { resourceVersion: metadata.resourceVersion }));
    expect(isConflict(await stale)).toBe(true);
    await client.delete(configMaps, ref, { uid: metadata.uid });
    expect(isNotFound(await failure(client.delete(configMaps, ref)))).toBe(true);
  });

  test("server-side apply owns fields, and is refused those of others unless forced", async () => {
    const object = (value: string) => ({ metadata: { namespace, name: "owned" }, data: { key: value } });
    await client.apply(configMaps, object("a"), { fieldManager: "one" });
    const error = await failure(client.apply(configMaps, object("b"), { fieldManager: "two" }));
    expect(isConflict(error)).toBe(true);
    expect((error as Error).message).toContain('conflict with "one"');
    expect((await client.apply(configMaps, object("b"), { fieldManager: "two", force: true })).data).toEqual({
      key: "b",
    });
  });

  test("pages follow each other, and a selector chooses", async () => {
    const labels = { suite: "pages" };
    await Promise.all(
      Array.from({ length: 25 }, (_, index) =>
        client.create(configMaps, { metadata: { namespace, name: `page-${index}`, labels } }),
      ),
    );
    const sizes: number[] = [];
    for await (const page of client.pages(configMaps, { namespace, labelSelector: "suite=pages", limit: 10 })) {
      sizes.push(page.items.length);
    }
    expect(sizes).toEqual([10, 10, 5]);
    const { items } = await client.list(configMaps, { fieldSelector: "metadata.name=page-7" });
    expect(items.map((item) => [item.kind, item.metadata.name])).toEqual([["ConfigMap", "page-7"]]);
  });

  test("a watch delivers what happens, and bookmarks when asked", async () => {
    const { resourceVersion } = await client.list(configMaps, { namespace });
    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      const options = { namespace, resourceVersion, timeoutSeconds: 3, signal: stop.signal };
      for await (const event of client.watch(configMaps, options)) {
        seen.push(event.type === "BOOKMARK" ? event.type : `${event.type} ${event.object.metadata.name}`);
      }
    })();
    const ref = { namespace, name: "watched" };
    await client.create(configMaps, { metadata: ref });
    await client.patch(configMaps, ref, { type: "merge", body: { data: { a: "1" } } });
    await client.delete(configMaps, ref);
    await watching;
    expect(seen.filter((one) => one !== "BOOKMARK")).toEqual(["ADDED watched", "MODIFIED watched", "DELETED watched"]);
    expect(seen).toContain("BOOKMARK");
  });

  test("a token of a service account is asked for and used", async () => {
    const ref = { namespace, name: "robot" };
    await client.create(RESOURCES.serviceAccounts, { metadata: ref });
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 600 } };
    const answer: typeof request & { status?: { token: string } } = await client.createSubresource(
      RESOURCES.serviceAccounts,
      ref,
      "token",
      request,
    );
    const token = answer.status?.token ?? "";
    const review = await client.create(RESOURCES.tokenReviews, { metadata: {}, spec: { token } });
    expect(review.status?.user?.username).toBe("system:serviceaccount:default:robot");
  });

  test("events appear, and what repeats becomes one with a count", async () => {
    const owner = await client.create(configMaps, { metadata: { namespace, name: "eventful" } });
    let nowMs = 0;
    const clock = { now: () => Date.now(), monotonicMs: () => nowMs, sleep: async () => {}, after: () => () => {} };
    const recorder = new EventRecorder({ client, controller: "example.com/suite", instance: "suite-0", clock });
    recorder.event(owner, "Warning", "Broken", "it is broken");
    await recorder.flush();
    nowMs += 60_000;
    recorder.event(owner, "Warning", "Broken", "it is broken");
    recorder.event(owner, "Normal", "Mended", "it is mended");
    await recorder.flush();
    const { items } = await eventually("two events", async () => {
      const list = await client.list(RESOURCES.events, { namespace, fieldSelector: "regarding.name=eventful" });
      return list.items.length === 2 ? list : undefined;
    });
    const [broken] = items.filter((event) => event.reason === "Broken");
    expect(broken).toMatchObject({ type: "Warning", note: "it is broken", series: { count: 2 } });
    expect(broken?.regarding).toMatchObject({ kind: "ConfigMap", name: "eventful", uid: owner.metadata.uid });
  });

  test("many requests with 32 callers all arrive", async () => {
    const count = share(2_000);
    let next = 0;
    const worker = async () => {
      for (let index = next++; index < count; index = next++) {
        await client.create(configMaps, { metadata: { namespace, name: `many-${index}`, labels: { many: "yes" } } });
      }
    };
    await Promise.all(Array.from({ length: 32 }, worker));
    expect((await client.list(configMaps, { labelSelector: "many=yes" })).items).toHaveLength(count);
  });
});
