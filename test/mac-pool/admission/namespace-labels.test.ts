import { expect, it } from "vitest";
import { ApiError } from "../../../src/kube/client/api-error.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { namespaceLabels } from "../../../src/mac-pool/admission/namespace-labels.ts";
import { signal } from "./review-fixture.ts";

it("asks about few namespaces at once that nobody knows, whatever reviews make up", async () => {
  let underWay = 0;
  let most = 0;
  const get = async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    throw new ApiError({ status: 404, reason: "NotFound", message: "there is none" });
  };
  const namespaces = namespaceLabels({ get } as unknown as KubeClient, { get: () => undefined });
  const made = Array.from({ length: 100 }, (_, i) => namespaces.labelsOf(`made-up-${i}`, signal));
  expect(new Set(await Promise.all(made))).toEqual(new Set([undefined]));
  expect(most).toBe(4);
});

it("lets one that no longer waits leave the line", async () => {
  const { promise, resolve } = Promise.withResolvers<object>();
  const namespaces = namespaceLabels({ get: () => promise } as unknown as KubeClient, { get: () => undefined });
  const first = Array.from({ length: 4 }, (_, i) => namespaces.labelsOf(`slow-${i}`, signal));
  const gone = namespaces.labelsOf("late", AbortSignal.abort(new Error("the client went away")));
  await expect(gone).rejects.toThrow("the client went away");
  resolve({ metadata: { labels: { a: "b" } } });
  expect(await Promise.all(first)).toEqual(Array(4).fill({ a: "b" }));
});
