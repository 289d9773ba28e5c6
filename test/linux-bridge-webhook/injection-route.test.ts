import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { INJECT_RESOURCES_PATH } from "../../src/api/webhook-paths.ts";
import { silentLog } from "../../src/kube/log.ts";
import type { Review } from "../../src/kube/server/admission-server.ts";
import { RouteServer } from "../../src/kube/server/route-server.ts";
import { routeInjection } from "../../src/linux-bridge-webhook/injection-route.ts";
import { ManualClock } from "../kube/support/manual-clock.ts";

const BODY = JSON.stringify({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: {
    uid: "1",
    kind: { group: "", version: "v1", kind: "Pod" },
    resource: { group: "", version: "v1", resource: "pods" },
    operation: "CREATE",
    namespace: "team",
    object: { metadata: { generateName: "web-" } },
  },
});

it("counts each decision, and logs of pods without an injection as many as somebody can read", async () => {
  const reviews: Review[] = [
    () => ({ allowed: true, patch: [{ op: "add", path: "/a", value: 1 }] }),
    () => ({ allowed: true, patch: [] }),
    async () => ({ allowed: false, message: "no" }),
    () => {
      throw new Error("a pod like no other");
    },
    ...Array.from({ length: 30 }, (): Review => () => Promise.reject(new Error("connection refused"))),
  ];
  const lines: [Record<string, unknown>, string][] = [];
  const metrics = new Registry();
  await using server = new RouteServer({ port: 0, host: "127.0.0.1" });
  routeInjection(server, {
    review: (request, signal) => (reviews.shift() as Review)(request, signal),
    metrics,
    log: { ...silentLog, warn: (...line: unknown[]) => lines.push(line as (typeof lines)[number]) },
    clock: new ManualClock(),
  });
  const statuses: number[] = [];
  const url = `http://127.0.0.1:${await server.listen()}${INJECT_RESOURCES_PATH}`;
  while (reviews.length > 0) {
    const answer = await fetch(url, { method: "POST", body: BODY });
    await answer.text();
    statuses.push(answer.status);
  }
  expect(statuses).toEqual([200, 200, 200, ...Array(31).fill(500)]);
  const counted = await metrics.getSingleMetric("linux_bridge_webhook_pods_total")?.get();
  expect(counted?.values.map(({ labels, value }) => [labels.decision, value])).toEqual([
    ["injected", 1],
    ["unchanged", 1],
    ["denied", 1],
    ["failed", 31],
  ]);
  expect(lines).toHaveLength(10);
  expect(lines[1]?.[0]).toMatchObject({ pod: "team/web-*", err: { message: "connection refused" } });
  expect(lines[1]?.[1]).toContain("may be on a node without its networks");
});
