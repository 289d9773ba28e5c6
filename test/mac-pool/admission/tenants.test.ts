import { describe, expect, it } from "vitest";
import { type Mac, parseMac } from "../../../src/api/mac.ts";
import { NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION, POD_WEBHOOK, VM_WEBHOOK } from "../../../src/api/names.ts";
import type { AdmissionRequest } from "../../../src/kube/server/admission-server.ts";
import type { Decision } from "../../../src/mac-pool/admission/decision.ts";
import { REVIEWS } from "../../../src/mac-pool/admission/reviews.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { reviewParts, reviewRequest, signal } from "./review-fixture.ts";

const MAC = "02:00:00:00:00:09";
const OTHER = "02:00:00:00:00:0a";

const pod = (networks: unknown, more: object = {}, annotations: object = {}): object => ({
  metadata: {
    name: "web",
    namespace: "default",
    annotations: { [NETWORKS_ANNOTATION]: JSON.stringify(networks), ...annotations },
    ...more,
  },
});

/** What tenants write to get an address past the pool. */
describe("a pod or an instance that claims to be something else", () => {
  const review = async (
    kind: "Pod" | "VirtualMachineInstance",
    object: object,
    store: MemoryClaimStore,
    more: Partial<AdmissionRequest> = {},
    machines: ReadonlyMap<string, readonly Mac[]> = new Map(),
  ): Promise<Decision> =>
    REVIEWS[kind](reviewRequest(kind, object, more), reviewParts(store, "Deny", [], machines), signal);
  const claimed = ({ claims }: MemoryClaimStore): string[] => [...claims.values()].map(({ spec }) => spec.mac);

  it.each([
    ["MAC", [{ name: "n", MAC }]],
    ["cni-args", [{ name: "n", "cni-args": { mac: MAC } }]],
    ["cni-args in another case", [{ name: "n", "CNI-Args": { Mac: MAC } }]],
    ["another notation", [{ name: "n", mac: "0200.0000.0009" }]],
    ["two notations", [{ name: "n", mac: "02-00-00-00-00-09", "cni-args": { mac: MAC } }]],
  ])("has its address claimed if it asks for it by %s, and is refused if another has it", async (_, networks) => {
    const store = new MemoryClaimStore();
    expect((await review("Pod", pod(networks), store)).answer.allowed).toBe(true);
    expect(claimed(store)).toEqual([MAC]);
    const second = await review("Pod", pod(networks, { name: "other" }), store, { name: "other" });
    expect(second.answer).toMatchObject({ allowed: false, message: expect.stringContaining("in use by Pod") });
  });

  it("is refused where it asks for two addresses on one attachment", async () => {
    const store = new MemoryClaimStore();
    for (const element of [
      { name: "n", mac: MAC, "cni-args": { mac: OTHER } },
      { name: "n", mac: MAC, MAC: OTHER },
    ]) {
      expect((await review("Pod", pod([element]), store)).answer).toMatchObject({
        allowed: false,
        message: expect.stringContaining('interface "net1" of Pod default/web asks for several MAC addresses'),
      });
    }
    expect(claimed(store)).toEqual([]);
  });

  it("is no launcher by its label, and has no networks yet whatever its status says", async () => {
    const labels = { "kubevirt.io": "virt-launcher" };
    const launcher = pod([{ name: "n", mac: MAC }], { labels }, { [NETWORK_STATUS_ANNOTATION]: "[]" });
    const store = new MemoryClaimStore();
    await review("Pod", launcher, store);
    expect(claimed(store)).toEqual([MAC]);
  });

  it("gets no address where it opts out, and has its own claimed unless its namespace allows it to be left alone", async () => {
    const labels = { [POD_WEBHOOK]: "ignore", [VM_WEBHOOK]: "ignore" };
    const store = new MemoryClaimStore();
    const asking = pod([{ name: "n", mac: MAC }, { name: "n" }], { labels });
    expect((await review("Pod", asking, store)).answer).toEqual({ allowed: true });
    expect(claimed(store)).toEqual([MAC]);
    const instance = { ...vmi(MAC, "none"), metadata: { name: "out", labels } };
    expect((await review("VirtualMachineInstance", instance, store, { name: "out" })).answer).toMatchObject({
      message: expect.stringContaining("is in use by Pod default/web (net1)"),
    });
    for (const [kind, object] of [
      ["Pod", asking],
      ["VirtualMachineInstance", instance],
    ] as const) {
      expect((await review(kind, object, store, { namespace: "free" })).answer).toEqual({ allowed: true });
    }
    expect(claimed(store)).toEqual([MAC]);
  });

  const vmi = (macAddress: string, owner: string): object => ({
    metadata: {
      name: "web",
      namespace: "default",
      ownerReferences: [{ kind: "VirtualMachine", name: owner, uid: "u1" }],
    },
    spec: {
      domain: { devices: { interfaces: [{ name: "a", macAddress }] } },
      networks: [{ name: "a", multus: { networkName: "n" } }],
    },
  });
  const listed = new Map([["web", [parseMac(MAC) as Mac]]]);

  it("is an instance of its own unless the VM of its name exists and lists its addresses", async () => {
    const ofMachine = new MemoryClaimStore();
    await review("VirtualMachineInstance", vmi(MAC, "web"), ofMachine, {}, listed);
    expect(claimed(ofMachine)).toEqual([]);
    const claims = [
      [vmi(MAC, "web"), new Map(), "VirtualMachineInstance"],
      [vmi(MAC, "other"), new Map([["other", [parseMac(MAC) as Mac]]]), "VirtualMachineInstance"],
      [vmi(OTHER, "web"), listed, "VirtualMachine"],
    ] as const;
    for (const [object, machines, kind] of claims) {
      const store = new MemoryClaimStore();
      expect((await review("VirtualMachineInstance", object, store, {}, machines)).answer.allowed).toBe(true);
      expect([...store.claims.values()].map(({ status }) => status?.owners[0]?.kind)).toEqual([kind]);
      const second = { ...vmi(MAC === claimed(store)[0] ? MAC : OTHER, "none"), metadata: { name: "thief" } };
      const answer = await review("VirtualMachineInstance", second, store, { name: "thief" });
      expect(answer.answer).toMatchObject({ allowed: false, message: expect.stringContaining("is in use by") });
    }
  });
});
