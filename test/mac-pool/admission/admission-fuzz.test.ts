import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import fc from "fast-check";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { NETWORKS_ANNOTATION } from "../../../src/api/names.ts";
import { MAC_POOL_PATHS } from "../../../src/api/webhook-paths.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import type { PostHandler } from "../../../src/kube/server/route-server.ts";
import { OwnerRedaction } from "../../../src/mac-pool/admission/owner-redaction.ts";
import { routeWebhooks, type WebhooksOptions } from "../../../src/mac-pool/admission/routes.ts";
import { PoolMetrics } from "../../../src/mac-pool/metrics.ts";
import { share } from "../../support/share.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { reviewParts, reviewRequest, vm } from "./review-fixture.ts";

/** Objects sent; the goal is 100,000, which takes ten seconds. */
const OBJECTS = Number(process.env.FUZZ_OBJECTS ?? share(20_000));
const WEBHOOKS = [
  { kind: "Pod", path: MAC_POOL_PATHS.pods },
  { kind: "VirtualMachine", path: MAC_POOL_PATHS.virtualMachines },
  { kind: "VirtualMachineInstance", path: MAC_POOL_PATHS.instances },
];

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

const FILLED = { hasSynced: true, whenSynced: async () => {} };

/** The handlers as the server has them, metrics and log included. */
function served(caches: WebhooksOptions["caches"] = FILLED): (path: string, body: string) => Promise<unknown> {
  const handlers = new Map<string, PostHandler>();
  const routes = { post: (path: string, handler: PostHandler) => void handlers.set(path, handler) };
  const parts = reviewParts(new MemoryClaimStore(), "DenyRunning");
  const metrics = new PoolMetrics(
    new Registry(),
    parts.index,
    () => undefined,
    () => false,
  );
  const names = new OwnerRedaction({ isAllowed: async () => false }, silentLog);
  routeWebhooks(routes, { parts, caches, names, metrics, clock: systemClock, onDenied: () => {} });
  return (path, body) =>
    new Promise((resolve, reject) => {
      const raw = Object.assign(new EventEmitter(), { writableFinished: true }) as unknown as ServerResponse;
      const send = (answer: string | Error): void => {
        raw.emit("close");
        if (typeof answer === "string") resolve(answer);
        else reject(answer);
      };
      handlers.get(path)?.({ body, search: "" }, { raw, send });
    });
}

describe("an object that is sent before the caches are filled", () => {
  it("is judged when they are, and not refused for want of a pool", async () => {
    const filled = Promise.withResolvers<void>();
    const post = served({ hasSynced: false, whenSynced: () => filled.promise });
    const request = reviewRequest("VirtualMachine", vm([{ name: "a" }]));
    let answered = false;
    const answer = post(
      MAC_POOL_PATHS.virtualMachines,
      JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request }),
    ).finally(() => {
      answered = true;
    });
    await new Promise(setImmediate);
    expect(answered).toBe(false);
    filled.resolve();
    expect(JSON.parse(String(await answer)).response).toMatchObject({ allowed: true, patchType: "JSONPatch" });
  });
});

describe("an object that is refused", () => {
  const refusalOf = async (object: object, namespace = "default"): Promise<string> => {
    const request = { ...reviewRequest("VirtualMachine", object), namespace };
    const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request };
    const { response } = JSON.parse(String(await served()(MAC_POOL_PATHS.virtualMachines, JSON.stringify(review))));
    expect(response.allowed).toBe(false);
    return response.status.message;
  };
  const named = (object: object, name: string) => ({ ...object, metadata: { name } });

  it("is named, since a file may have several", async () => {
    expect(await refusalOf(named(vm([{ name: "a" }]), "web"), "ghost")).toMatch(
      /^VirtualMachine ghost\/web: namespace "ghost" does not exist, /,
    );
  });

  it("is named once", async () => {
    const twins = ["a", "b"].map((name) => ({ name, macAddress: "02:00:00:00:00:01" }));
    expect(await refusalOf(named(vm(twins), "web"))).toMatch(
      /^duplicate MAC address 02:00:00:00:00:01 in VirtualMachine default\/web: /,
    );
  });
});

describe("whatever object is sent", () => {
  it("is answered, and admitted as it is or refused with a reason", async () => {
    const post = served();
    const operation = fc.constantFrom("CREATE" as const, "UPDATE" as const);
    const webhook = fc.constantFrom(...WEBHOOKS);
    await fc.assert(
      fc.asyncProperty(shaped, shaped, operation, fc.boolean(), webhook, async (object, oldObject, op, dryRun, to) => {
        const request = { ...reviewRequest(to.kind, object), operation: op, oldObject, dryRun };
        const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request };
        const { response } = JSON.parse(String(await post(to.path, JSON.stringify(review))));
        expect(response.uid).toBe(request.uid);
        if (!response.allowed) expect(response.status.message).toContain(`${to.kind} ${request.namespace ?? ""}/`);
      }),
      { numRuns: OBJECTS },
    );
  }, 300_000);
});
