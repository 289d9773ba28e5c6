import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseMac } from "../../../src/api/mac.ts";
import { NETWORKS_ANNOTATION } from "../../../src/api/names.ts";
import type { AdmissionRequest } from "../../../src/kube/admission/admission-server.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { PoolIndex } from "../../../src/mac-pool/core/pool-index.ts";
import { Segments } from "../../../src/mac-pool/core/segments.ts";
import { ClaimLedger } from "../../../src/mac-pool/ledger/claim-ledger.ts";
import { StartGate } from "../../../src/mac-pool/ledger/start-gate.ts";
import type { AdmissionParts, Decision } from "../../../src/mac-pool/webhooks/decision.ts";
import { reviewGuest } from "../../../src/mac-pool/webhooks/guest-review.ts";
import { reviewPod } from "../../../src/mac-pool/webhooks/pod-review.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";

const signal = new AbortController().signal;

function parts(store = new MemoryClaimStore()): AdmissionParts {
  const index = new PoolIndex();
  const [start, end] = [parseMac("020000000000"), parseMac("0200000fffff")];
  if (start === undefined || end === undefined) throw new Error("no range");
  index.setPool({
    name: "default",
    segments: new Segments([{ start, end }]),
    namespaceSelector: undefined,
    conflictPolicy: "Deny",
    quarantineMs: 60_000,
    createdAtMs: 0,
  });
  const random = () => 0;
  const ledger = new ClaimLedger({ store, index, clock: systemClock, random, log: silentLog, onGranted: () => {} });
  const namespaces = { labelsOf: async (name: string) => (name === "gone" ? undefined : {}) };
  const starts = new StartGate({ store, isRunning: async () => false, clock: systemClock });
  return { ledger, starts, isReceiver: () => false, index, namespaces, log: silentLog };
}

function request(kind: string, object: unknown, more: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    uid: "1",
    kind: { group: "", version: "v1", kind },
    resource: { group: "", version: "v1", resource: "" },
    operation: "CREATE",
    name: "web",
    namespace: "default",
    object: object as AdmissionRequest["object"],
    oldObject: null,
    dryRun: false,
    userInfo: {},
    ...more,
  };
}

const vm = (interfaces: unknown, more: object = {}): object => ({
  metadata: { name: "web", namespace: "default", ...more },
  spec: {
    template: {
      spec: { domain: { devices: { interfaces } }, networks: [{ name: "a", multus: { networkName: "n" } }] },
    },
  },
});

const review = (object: unknown, more: Partial<AdmissionRequest> = {}, with_ = parts()): Promise<Decision> =>
  reviewGuest("VirtualMachine", request("VirtualMachine", object, more), with_, signal);

describe("the review of a virtual machine", () => {
  it("patches nothing but the address that is missing", async () => {
    const { answer } = await review(
      vm([
        { name: "x", bridge: {} },
        { name: "a", bridge: {} },
      ]),
    );
    expect(answer).toEqual({
      allowed: true,
      patch: [
        {
          op: "add",
          path: "/spec/template/spec/domain/devices/interfaces/1/macAddress",
          value: expect.stringMatching(/^02:00:00:0/),
        },
      ],
    });
  });

  it("patches nothing where there is nothing to add", async () => {
    expect((await review(vm([{ name: "a", macAddress: "02:00:00:00:00:01" }]))).answer).toEqual({ allowed: true });
    expect((await review({ metadata: { name: "web" }, spec: {} })).answer).toEqual({ allowed: true });
    expect(
      (await review(vm([{ name: "a" }], { labels: { "mutatevirtualmachines.kubemacpool.io": "ignore" } }))).answer,
    ).toEqual({
      allowed: true,
    });
    expect((await review(vm([{ name: "a" }], { deletionTimestamp: "2026-01-01T00:00:00Z" }))).answer).toEqual({
      allowed: true,
    });
  });

  it("writes nothing for an update that changes no address", async () => {
    const store = new MemoryClaimStore();
    const old = vm([{ name: "a", macAddress: "02:00:00:00:00:01" }], { uid: "u1" });
    const more = { operation: "UPDATE", oldObject: old as AdmissionRequest["oldObject"] } as const;
    expect((await review(old, more, parts(store))).answer).toEqual({ allowed: true });
    const restored = await review(vm([{ name: "a" }], { uid: "u1" }), more, parts(store));
    expect(restored.answer).toMatchObject({ patch: [{ value: "02:00:00:00:00:01" }] });
    expect(store.writes).toEqual([]);
  });

  it("gives nothing to objects of a namespace that does not exist", async () => {
    const { answer } = await review(vm([{ name: "a" }]), { namespace: "gone" });
    expect(answer).toMatchObject({
      allowed: false,
      message: expect.stringContaining('namespace "gone" does not exist'),
    });
  });

  it("says that nothing was given out when the API server does not answer", async () => {
    const store = new MemoryClaimStore(() => Promise.reject(new Error("socket hang up")));
    expect((await review(vm([{ name: "a" }]), {}, parts(store))).answer).toMatchObject({ allowed: false, code: 503 });
  });
});

/** JSON values with the fields that are looked at more likely than others. */
const junk = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(null, true, 0, "", "02:00:00:00:00:01", "02-00-00-00-00-01", "junk", "a", "[]", "[{}]", "n1,n2"),
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

describe("whatever object is sent", () => {
  it("is answered, and admitted as it is or refused with a reason", async () => {
    const operation = fc.constantFrom("CREATE" as const, "UPDATE" as const);
    await fc.assert(
      fc.asyncProperty(shaped, shaped, operation, fc.boolean(), async (object, oldObject, op, dryRun) => {
        const more = { operation: op, oldObject: oldObject as AdmissionRequest["oldObject"], dryRun };
        const decisions = await Promise.all([
          reviewGuest("VirtualMachine", request("VirtualMachine", object, more), parts(), signal),
          reviewGuest("VirtualMachineInstance", request("VirtualMachineInstance", object, more), parts(), signal),
          reviewPod(request("Pod", object, more), parts(), signal),
        ]);
        for (const { answer } of decisions) if (!answer.allowed) expect(answer.message).not.toBe("");
      }),
      { numRuns: 2_000 },
    );
  });
});
