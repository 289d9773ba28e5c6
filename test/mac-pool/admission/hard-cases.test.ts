import { describe, expect, it } from "vitest";
import { claimName, type Mac, parseMac } from "../../../src/api/mac.ts";
import type { OwnerKind } from "../../../src/api/mac-claim.ts";
import { NETWORKS_ANNOTATION } from "../../../src/api/names.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import type { AdmissionRequest } from "../../../src/kube/server/admission-server.ts";
import { reviewPod } from "../../../src/mac-pool/admission/pod-review.ts";
import { REVIEWS } from "../../../src/mac-pool/admission/reviews.ts";
import { readPool } from "../../../src/mac-pool/pools/pool-settings.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";
import { review, reviewParts, reviewRequest, signal, vm } from "./review-fixture.ts";

const MAC = "02:00:00:00:0a:01";
const nics = (count: number): object[] => Array.from({ length: count }, (_, i) => ({ name: `n${i}`, masquerade: {} }));
const LONG = "x".repeat(10_000);

/** Of a VM that it names, with an address. */
function instance(uid: string, name: string): KubeObject {
  const ownerReferences = [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "web", uid }];
  const domain = { devices: { interfaces: [{ name, masquerade: {}, macAddress: MAC }] } };
  return { metadata: { name: "web", namespace: "default", ownerReferences }, spec: { domain } } as KubeObject;
}

const messageOf = async (object: unknown): Promise<string> => {
  const { answer } = await review(object);
  return answer.allowed ? "" : answer.message;
};

describe("objects of absurd shape", () => {
  it("have 300 interfaces and are refused, or 128 and get 128 different addresses", async () => {
    expect(await messageOf(vm(nics(300)))).toContain("has 300 interfaces. The maximum is 128");
    const { answer } = await review(vm(nics(128)));
    const patch = answer.allowed ? (answer.patch ?? []) : [];
    expect(new Set(patch.map(({ value }) => value)).size).toBe(128);
  });

  it("have names of 10 kB, and are refused with the beginning of them", async () => {
    const [name, networkName] = ["x".repeat(10_000), `default/${"n".repeat(10_000)}`];
    const message = await messageOf(vm([{ name, masquerade: {} }]));
    expect(message).toMatch(
      /^the name of interface "x{80}\.\.\." of VirtualMachine default\/web has 10,000 characters\. /,
    );
    const networks = [{ name: "a", multus: { networkName } }];
    const spec = { domain: { devices: { interfaces: [{ name: "a" }] } }, networks };
    expect(await messageOf({ metadata: { name: "web" }, spec: { template: { spec } } })).toContain(
      'the network of interface "a" of VirtualMachine default/web has 10,015 characters',
    );
  });

  it("have the longest names that Kubernetes takes", async () => {
    const [name, networkName] = ["x".repeat(253), `${"n".repeat(63)}/${"n".repeat(253)}`];
    const spec = { domain: { devices: { interfaces: [{ name }] } }, networks: [{ name, multus: { networkName } }] };
    const { answer } = await review({ metadata: { name }, spec: { template: { spec } } }, { name });
    expect(answer.allowed && answer.patch?.length).toBe(1);
  });

  it.each<[OwnerKind, string, Partial<AdmissionRequest>]>([
    ["VirtualMachine", "the name of VirtualMachine", { name: LONG }],
    ["VirtualMachine", "generateName of VirtualMachine", { name: "", object: { metadata: { generateName: LONG } } }],
    [
      "VirtualMachine",
      "the UID of VirtualMachine",
      { operation: "UPDATE", oldObject: { metadata: { name: "web", uid: LONG } } },
    ],
    ["Pod", "the name of Pod", { name: LONG }],
    ["VirtualMachineInstance", "the UID of VirtualMachine", { object: instance(LONG, "a") }],
    ["VirtualMachineInstance", "the name of interface", { object: instance("u1", LONG) }],
  ])("of kind %s have %s with 10 kB, and are refused before anything is written", async (kind, what, more) => {
    const store = new MemoryClaimStore();
    const request = reviewRequest(kind, vm([{ name: "a", masquerade: {} }]), more);
    const { answer, refusal } = await REVIEWS[kind](request, reviewParts(store), signal);
    expect(refusal?.code).toBe("MACPOOL_NAME_TOO_LONG");
    expect(answer).toMatchObject({ allowed: false, message: expect.stringContaining(what) });
    expect(JSON.stringify(answer).length).toBeLessThan(700);
    expect(store.claims.size).toBe(0);
  });

  it("have interfaces without a name, or that are no interfaces at all", async () => {
    expect(await messageOf(vm([{ masquerade: {} }]))).toContain(
      "interface 0 of VirtualMachine default/web has no name",
    );
    for (const odd of [null, 7, "eth0", [], {}]) {
      expect(await messageOf(vm([odd, { name: "a" }]))).toContain("unique name");
      expect((await review(vm([odd]))).answer).toEqual({ allowed: true });
    }
    for (const odd of [null, 7, "eth0", {}]) expect((await review(vm(odd))).answer).toEqual({ allowed: true });
  });

  it("have addresses in every broken form, each refused with an example", async () => {
    const broken = [
      "02:00:00:00:00",
      "02:00:00:00:00:01:02",
      "02:00:00:00:00:zz",
      "0200.0000.000",
      "02-00:00-00:00-01",
    ];
    const eui64 = ["02:00:00:ff:fe:00:00:01", "020000fffe000001", "0200.00ff.fe00.0001"];
    for (const macAddress of [...broken, ...eui64, " ", "::::::", "0x020000000001"]) {
      const message = await messageOf(vm([{ name: "a", masquerade: {}, macAddress }]));
      expect(message).toContain("invalid MAC address format");
      expect(message).toContain("for example 02:00:00:00:00:01");
    }
  });

  it("have the all-zero, the broadcast or a multicast address", async () => {
    const unusable = {
      "00:00:00:00:00:00": "all-zero",
      "FF-FF-FF-FF-FF-FF": "broadcast",
      "0300.0000.0001": "multicast",
    };
    for (const [macAddress, what] of Object.entries(unusable)) {
      expect(await messageOf(vm([{ name: "a", masquerade: {}, macAddress }]))).toContain(
        `the ${what} address`.slice(4),
      );
    }
  });

  it("have one address twice, in two notations", async () => {
    const message = await messageOf(
      vm([
        { name: "a", masquerade: {}, macAddress: "02:00:00:00:00:0A" },
        { name: "b", masquerade: {}, macAddress: "0200.0000.000a" },
      ]),
    );
    expect(message).toContain("duplicate MAC address 02:00:00:00:00:0a");
  });
});

describe("ranges of absurd shape", () => {
  const problemOf = (...ranges: { start: string; end: string }[]): string | undefined =>
    readPool({ metadata: { name: "p" }, spec: { ranges } }, undefined).problem;

  it("are refused with the place and the reason", () => {
    const first = (start: string, end: string): string | undefined => problemOf({ start, end });
    expect(first("02:00:00:00:00:02", "02:00:00:00:00:01")).toMatch(/^spec\.ranges\[0\]: /);
    expect(first("0a:00:00:00:00:00", "02:00:00:00:00:00")).toBeDefined();
    expect(first("02:ff:00:00:00:00", "07:00:00:00:00:00")).toContain("Multicast addressing is not supported");
    expect(first("02:ff:00:00:00:00", "06:00:00:00:00:00")).toBeUndefined();
    expect(first("00:00:00:00:00:00", "00:00:00:00:00:01")).toBeDefined();
    expect(first("ff:ff:ff:ff:ff:ff", "ff:ff:ff:ff:ff:ff")).toBeDefined();
    for (const end of ["", "02", "02:00:00:ff:fe:00:00:01", "junk"])
      expect(first("02:00:00:00:00:00", end)).toBeDefined();
    expect(problemOf({ start: "02:00:00:00:00:00", end: "02:00:00:00:00:0f" }, { start: "x", end: "y" })).toMatch(
      /^spec\.ranges\[1\]: /,
    );
    expect(problemOf()).toContain("spec.ranges is empty");
    expect(first("02-00-00-00-00-00", "0200.0000.0000")).toBeUndefined();
  });
});

describe("what pools of addresses get wrong", () => {
  const update = (object: object, oldObject: object): Partial<AdmissionRequest> => ({
    operation: "UPDATE",
    object: object as AdmissionRequest["object"],
    oldObject: oldObject as AdmissionRequest["oldObject"],
  });

  it("is an update of a VM that no cache has: it is decided against the old object, and only the change is claimed", async () => {
    const store = new MemoryClaimStore();
    const old = vm([{ name: "a", macAddress: MAC }], { uid: "u1" });
    const next = vm([{ name: "a", macAddress: "02:00:00:00:0a:02" }], { uid: "u1" });
    expect((await review(next, update(next, old), reviewParts(store))).answer).toEqual({ allowed: true });
    expect(store.writes).toEqual([`create ${claimName(parseMac("02:00:00:00:0a:02") as Mac)}`]);
  });

  it("is a VM made under the name of one that was just deleted: it gets an address, although the old claim is there", async () => {
    const store = new MemoryClaimStore();
    const parts = reviewParts(store);
    const first = await review(vm([{ name: "a" }]), {}, parts);
    const second = await review(vm([{ name: "a" }]), {}, parts);
    for (const { answer } of [first, second]) expect(answer).toMatchObject({ patch: [{ op: "add" }] });
    expect(store.claims.size).toBe(2);
  });

  it("is the rest of a pod's annotation: every field that is not ours survives, in its place", async () => {
    const elements = [{ "ipam-claim-reference": "c", name: "n", "cni-args": { a: [1, { b: null }] }, future: true }];
    const metadata = { name: "p", annotations: { [NETWORKS_ANNOTATION]: JSON.stringify(elements) } };
    const { answer } = await reviewPod(reviewRequest("Pod", { metadata }), reviewParts(), signal);
    const value = answer.allowed ? answer.patch?.[0]?.value : undefined;
    expect(JSON.parse(String(value))).toEqual([{ ...elements[0], mac: expect.any(String) }]);
  });

  it("is the notation of a pod's address: it stays as it is written, but for digits alone, which multus refuses", async () => {
    const answerTo = async (mac: string) => {
      const elements = [{ name: "n", mac, future: true }];
      const metadata = { name: "p", annotations: { [NETWORKS_ANNOTATION]: JSON.stringify(elements) } };
      return (await reviewPod(reviewRequest("Pod", { metadata }), reviewParts(), signal)).answer;
    };
    const value = JSON.stringify([{ name: "n", mac: MAC, future: true }]);
    const path = "/metadata/annotations/k8s.v1.cni.cncf.io~1networks";
    for (const mac of ["020000000a01", "020000000A01"]) {
      expect(await answerTo(mac)).toEqual({ allowed: true, patch: [{ op: "replace", path, value }] });
    }
    for (const mac of [MAC, MAC.toUpperCase(), "02-00-00-00-0A-01", "0200.0000.0a01"]) {
      expect(await answerTo(mac)).toEqual({ allowed: true });
    }
  });

  it("is an object that did not change: nothing is written into it, no time and no annotation", async () => {
    const object = vm([{ name: "a", macAddress: MAC }], { uid: "u1" });
    const store = new MemoryClaimStore();
    for (let i = 0; i < 3; i++) {
      expect((await review(object, update(object, object), reviewParts(store))).answer).toEqual({ allowed: true });
    }
    expect(store.writes).toEqual([]);
  });
});
