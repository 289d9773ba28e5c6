import { describe, expect, it } from "vitest";
import type { AdmissionRequest } from "../../../src/kube/admission/admission-server.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { review, reviewParts, vm } from "./review-bed.ts";

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
    expect((await review(old, more, reviewParts(store))).answer).toEqual({ allowed: true });
    const restored = await review(vm([{ name: "a" }], { uid: "u1" }), more, reviewParts(store));
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
    expect((await review(vm([{ name: "a" }]), {}, reviewParts(store))).answer).toMatchObject({
      allowed: false,
      code: 503,
    });
  });
});
