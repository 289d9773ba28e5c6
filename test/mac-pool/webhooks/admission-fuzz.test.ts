import fc from "fast-check";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { NETWORKS_ANNOTATION } from "../../../src/api/names.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import type { HttpHandler, HttpRequest } from "../../../src/kube/http/http-handler.ts";
import type { HttpServer } from "../../../src/kube/http/server.ts";
import { PoolMetrics } from "../../../src/mac-pool/metrics.ts";
import { routeWebhooks } from "../../../src/mac-pool/webhooks/routes.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { reviewParts, reviewRequest, signal } from "./review-bed.ts";

/** Objects sent; the goal is 100,000, which takes ten seconds. */
const OBJECTS = Number(process.env.FUZZ_OBJECTS ?? 20_000);
const KINDS = ["Pod", "VirtualMachine", "VirtualMachineInstance"];

/** JSON values with the fields that are looked at more likely than others. */
const junk = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(
      null,
      true,
      0,
      "",
      "02:00:00:00:00:01",
      "02-00-00-00-00-01",
      "junk",
      "a",
      "[]",
      "[{}]",
      "n1,n2",
      "VirtualMachine",
    ),
    fc.array(tie("value"), { maxLength: 3 }),
    tie("object"),
  ),
  object: fc.dictionary(
    fc.constantFrom(
      ...["metadata", "name", "namespace", "labels", "annotations", NETWORKS_ANNOTATION, "spec", "template", "domain"],
      ...[
        "devices",
        "interfaces",
        "networks",
        "macAddress",
        "multus",
        "networkName",
        "ownerReferences",
        "kind",
        "masquerade",
        "state",
        "mac",
        "__proto__",
      ],
    ),
    tie("value"),
    { maxKeys: 6 },
  ),
}));

const shaped = fc.record({
  metadata: fc.oneof(junk.object, fc.record({ annotations: fc.record({ [NETWORKS_ANNOTATION]: fc.json() }) })),
  spec: fc.oneof(
    junk.object,
    fc.record({
      template: fc.record({
        spec: fc.record({
          domain: fc.record({ devices: fc.record({ interfaces: junk.value }) }),
          networks: junk.value,
        }),
      }),
    }),
  ),
});

/** The handlers as the server has them, metrics and log included. */
function handlers(): {
  readonly paths: readonly string[];
  readonly post: (path: string, body: string) => Promise<string>;
} {
  const routes = new Map<string, HttpHandler>();
  const server = { route: (_method: string, path: string, handler: HttpHandler) => routes.set(path, handler) };
  const parts = reviewParts(new MemoryClaimStore(), "DenyRunning");
  const metrics = new PoolMetrics(new Registry(), parts.index, () => undefined);
  routeWebhooks(server as unknown as HttpServer, parts, metrics, systemClock);
  const post = async (path: string, body: string): Promise<string> => {
    const request: HttpRequest = {
      method: "POST",
      path,
      search: "",
      query: new URLSearchParams(),
      headers: {},
      body: async () => Buffer.from(body),
      answerWithin: () => {},
    };
    const answer = await routes.get(path)?.(request, signal);
    expect(answer?.status).toBe(200);
    return String(answer?.body);
  };
  return { paths: [...routes.keys()], post };
}

describe("whatever object is sent", () => {
  it("is answered, and admitted as it is or refused with a reason", async () => {
    const { paths, post } = handlers();
    const operation = fc.constantFrom("CREATE" as const, "UPDATE" as const);
    const kind = fc.nat({ max: paths.length - 1 });
    await fc.assert(
      fc.asyncProperty(shaped, shaped, operation, fc.boolean(), kind, async (object, oldObject, op, dryRun, index) => {
        const request = { ...reviewRequest(KINDS[index] ?? "", object), operation: op, oldObject, dryRun };
        const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request };
        const { response } = JSON.parse(await post(paths[index] ?? "", JSON.stringify(review)));
        expect(response.uid).toBe(request.uid);
        if (!response.allowed) expect(response.status.message.length).toBeGreaterThan(20);
      }),
      { numRuns: OBJECTS },
    );
  }, 300_000);
});
