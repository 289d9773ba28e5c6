import { describe, expect, it } from "vitest";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../../src/api/names.ts";
import type { AdmissionAnswer, AdmissionRequest } from "../../src/kube/admission/admission-server.ts";
import type { NetworkLookup, NetworkLookups } from "../../src/linux-bridge-webhook/network-catalog.ts";
import { podReview } from "../../src/linux-bridge-webhook/pod-review.ts";

const BR1 = "bridge.network.kubevirt.io/br1";
const NETWORKS = "k8s.v1.cni.cncf.io/networks";
const DEFAULT = "v1.multus-cni.io/default-network";

const withBr1: NetworkLookup = { kind: "found", annotations: { [NAD_RESOURCE_NAME_ANNOTATION]: BR1 } };

function lookups(known: Record<string, NetworkLookup>): NetworkLookups {
  return { find: async ({ namespace, name }) => known[`${namespace}/${name}`] ?? { kind: "missing" } };
}

function podRequest(
  annotations: Record<string, string>,
  operation: AdmissionRequest["operation"] = "CREATE",
): AdmissionRequest {
  return {
    uid: "1",
    kind: { group: "", version: "v1", kind: "Pod" },
    resource: { group: "", version: "v1", resource: "pods" },
    operation,
    name: "",
    namespace: "team",
    object: { metadata: { generateName: "web-", annotations }, spec: { containers: [{ name: "compute" }] } },
    oldObject: null,
    dryRun: false,
    userInfo: {},
  };
}

async function review(
  annotations: Record<string, string>,
  known: Record<string, NetworkLookup>,
  missingNetwork: "deny" | "warn" = "deny",
): Promise<AdmissionAnswer> {
  return podReview({ networks: lookups(known), missingNetwork })(podRequest(annotations), AbortSignal.timeout(1000));
}

const injected = [
  { op: "add", path: "/spec/containers/0/resources", value: { requests: { [BR1]: "1" }, limits: { [BR1]: "1" } } },
];

describe("the pod webhook", () => {
  it("looks networks up in the pod's namespace unless they name another", async () => {
    expect(await review({ [NETWORKS]: "br1" }, { "team/br1": withBr1 })).toEqual({
      allowed: true,
      patch: injected,
      warnings: [],
    });
    expect(await review({ [NETWORKS]: "other/br1" }, { "other/br1": withBr1 })).toMatchObject({ patch: injected });
  });

  it("counts the default network too", async () => {
    expect(await review({ [DEFAULT]: "team/br1" }, { "team/br1": withBr1 })).toMatchObject({ patch: injected });
    expect(await review({ [DEFAULT]: "br1" }, { "kube-system/br1": withBr1 })).toMatchObject({ patch: injected });
  });

  it("denies a pod whose network does not exist, with the network's name and namespace", async () => {
    expect(await review({ [NETWORKS]: "br1, other/br2" }, { "team/br1": withBr1 })).toEqual({
      allowed: false,
      message:
        "Pod team/web-*: NetworkAttachmentDefinition other/br2, named by annotation k8s.v1.cni.cncf.io/networks, does " +
        "not exist. The pod would stay in ContainerCreating. Create the network first, or correct the annotation.",
    });
  });

  it("warns instead when told to, and still requests what it knows", async () => {
    expect(await review({ [NETWORKS]: "br1, other/br2" }, { "team/br1": withBr1 }, "warn")).toEqual({
      allowed: true,
      patch: injected,
      warnings: [expect.stringContaining("NetworkAttachmentDefinition other/br2")],
    });
  });

  it("does not deny for a default network whose namespace only multus knows", async () => {
    expect(await review({ [DEFAULT]: "br1" }, {})).toMatchObject({
      allowed: true,
      warnings: [expect.stringContaining("kube-system was searched")],
    });
  });

  it("does not deny where there are no NetworkAttachmentDefinitions at all", async () => {
    expect(await review({ [NETWORKS]: "br1" }, { "team/br1": { kind: "unsupported" } })).toMatchObject({
      allowed: true,
      patch: [],
      warnings: [expect.stringContaining("install multus first")],
    });
  });

  it("leaves an annotation that nobody can read to multus, with a warning", async () => {
    expect(await review({ [NETWORKS]: "[{" }, {})).toMatchObject({
      allowed: true,
      patch: [],
      warnings: [expect.stringContaining("can't be read")],
    });
  });

  it("leaves mirror pods and everything but CREATE alone", async () => {
    const ask = podReview({ networks: lookups({}), missingNetwork: "deny" });
    const signal = AbortSignal.timeout(1000);
    expect(await ask(podRequest({ [NETWORKS]: "br1" }, "UPDATE"), signal)).toEqual({ allowed: true });
    const mirror = podRequest({ [NETWORKS]: "br1", "kubernetes.io/config.mirror": "x" });
    expect(await ask(mirror, signal)).toEqual({ allowed: true });
  });

  it("gives no answer when nobody can say whether a network exists: the failurePolicy decides", async () => {
    const networks: NetworkLookups = { find: () => Promise.reject(new Error("connection refused")) };
    const ask = podReview({ networks, missingNetwork: "deny" });
    await expect(ask(podRequest({ [NETWORKS]: "br1" }), AbortSignal.timeout(1000))).rejects.toThrow(
      "connection refused",
    );
  });
});
