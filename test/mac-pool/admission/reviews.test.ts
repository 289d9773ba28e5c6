import { describe, expect, it } from "vitest";
import { type Mac, parseMac } from "../../../src/api/mac.ts";
import type { ConflictPolicy } from "../../../src/api/mac-pool.ts";
import type { AdmissionRequest } from "../../../src/kube/server/admission-server.ts";
import { REVIEWS } from "../../../src/mac-pool/admission/reviews.ts";
import type { ObjectReference } from "../../../src/mac-pool/claims/owner.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { review, reviewParts, reviewRequest, signal, vm } from "./review-fixture.ts";

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

  it("leaves an address as it is written, but for digits alone, which virt-api refuses, and patches nothing else", async () => {
    const path = "/spec/template/spec/domain/devices/interfaces/0/macAddress";
    const canonical = { name: "a", macAddress: "02:aa:bb:cc:dd:ee" };
    const asWritten = { allowed: true };
    const withColons = { allowed: true, patch: [{ op: "add", path, value: canonical.macAddress }] };
    for (const [macAddress, answer] of [
      ["02aabbccddee", withColons],
      ["02AABBCCDDEE", withColons],
      ["02-AA-BB-CC-DD-EE", asWritten],
      ["02aa.bbcc.DDEE", asWritten],
      ["02:AA:BB:CC:DD:EE", asWritten],
    ] as const) {
      const store = new MemoryClaimStore();
      const parts = reviewParts(store);
      const asked = vm([{ name: "a", macAddress }]);
      for (let times = 0; times < 2; times++) expect((await review(asked, {}, parts)).answer).toEqual(answer);
      expect((await review(vm([canonical]), {}, parts)).answer).toEqual({ allowed: true });
      const oldObject = vm([canonical], { uid: "u1" }) as AdmissionRequest["oldObject"];
      const before = store.writes.length;
      const applied = vm([{ name: "a", macAddress }], { uid: "u1" });
      expect((await review(applied, { operation: "UPDATE", oldObject }, parts)).answer).toEqual(answer);
      const stored = applied as AdmissionRequest["oldObject"];
      const again = await review(applied, { operation: "UPDATE", oldObject: stored }, parts);
      expect(again.answer).toEqual({ allowed: true });
      expect(store.writes.slice(before)).toEqual([]);
      expect([...store.claims.keys()]).toEqual(["mac-02-aa-bb-cc-dd-ee"]);
    }
  });

  it("judges a plugged-in address by its value and not by its notation, under DenyRunning", async () => {
    const parts = reviewParts(new MemoryClaimStore(), "DenyRunning", ["web", "twin"]);
    await review(vm([{ name: "a", macAddress: "0200.0000.0002" }], { name: "twin" }), { name: "twin" }, parts);
    const oldObject = vm([], { uid: "u1" }) as AdmissionRequest["oldObject"];
    const plugged = vm([{ name: "a", macAddress: "02-00-00-00-00-02" }], { uid: "u1" });
    expect((await review(plugged, { operation: "UPDATE", oldObject }, parts)).answer).toMatchObject({
      allowed: false,
      message: expect.stringContaining("VirtualMachine default/twin has the same MAC 02:00:00:00:00:02"),
    });
  });

  it("refuses to plug an address into a VM that runs while another runs with it, under DenyRunning", async () => {
    const [own, shared] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
    let store = new MemoryClaimStore();
    const plugIn = async (running: readonly string[], policy: ConflictPolicy = "DenyRunning") => {
      store = new MemoryClaimStore();
      const parts = reviewParts(store, policy, running);
      const twin = vm([{ name: "a", macAddress: shared }], { name: "twin" });
      expect((await review(twin, { name: "twin" }, parts)).answer).toEqual({ allowed: true });
      const before = vm([{ name: "b", macAddress: own, masquerade: {} }], { uid: "u1" });
      const after = vm(
        [
          { name: "b", macAddress: own, masquerade: {} },
          { name: "a", macAddress: shared },
        ],
        { uid: "u1" },
      );
      const oldObject = before as AdmissionRequest["oldObject"];
      return (await review(after, { operation: "UPDATE", oldObject }, parts)).answer;
    };
    expect(await plugIn(["web", "twin"])).toMatchObject({
      allowed: false,
      message:
        'VirtualMachine default/web can\'t get interface "a" while it runs: VirtualMachine default/twin has the same MAC ' +
        `${shared} and is running. Stop it first, or give one of them another address.`,
    });
    const [claim] = [...store.claims.values()];
    expect(claim?.status?.owners.map(({ name }) => name)).toEqual(["twin"]);
    for (const running of [["web"], ["twin"], []]) expect(await plugIn(running)).toMatchObject({ allowed: true });
    expect(await plugIn(["web", "twin"], "Warn")).toMatchObject({ allowed: true });
  });

  it("leaves a changed address to the next start of the VM, which gets it only then", async () => {
    const parts = reviewParts(new MemoryClaimStore(), "DenyRunning", ["web", "twin"]);
    const named = (name: string, macAddress: string) => vm([{ name: "a", macAddress }], { name, uid: "u1" });
    await review(named("twin", "02:00:00:00:00:02"), { name: "twin" }, parts);
    const oldObject = named("web", "02:00:00:00:00:01") as AdmissionRequest["oldObject"];
    const changed = await review(named("web", "02:00:00:00:00:02"), { operation: "UPDATE", oldObject }, parts);
    expect(changed.answer).toMatchObject({ allowed: true, warnings: [expect.stringContaining("default/twin")] });
  });

  it("tells of a VM that it lets start although it could not judge it", async () => {
    const told: string[] = [];
    const parts = reviewParts(new MemoryClaimStore(() => Promise.reject(new Error("socket hang up"))), "DenyRunning");
    const onUnjudged = ({ name = "" }: ObjectReference): void => void told.push(name);
    const listed = {
      cached: () => [{ mac: parseMac("02:00:00:00:00:02") as Mac, network: undefined }],
      live: async () => undefined,
    };
    const instance = {
      metadata: { name: "web", ownerReferences: [{ kind: "VirtualMachine", name: "web", uid: "u1" }] },
      spec: {
        domain: { devices: { interfaces: [{ name: "a", masquerade: {}, macAddress: "02:00:00:00:00:02" }] } },
      },
    };
    const { answer } = await REVIEWS.VirtualMachineInstance(
      reviewRequest("VirtualMachineInstance", instance),
      { ...parts, onUnjudged, macsOfMachine: listed },
      signal,
    );
    expect(answer).toMatchObject({ allowed: true, warnings: [expect.stringContaining("could not check")] });
    expect(told).toEqual(["web"]);
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
