import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../../src/api/names.ts";
import { encodeReview } from "../../src/kube/server/admission-review.ts";
import type { AdmissionAnswer, AdmissionRequest } from "../../src/kube/server/admission-server.ts";
import type { NetworkLookup, NetworkLookups } from "../../src/linux-bridge-webhook/network-catalog.ts";
import { type PodReviewOptions, podReview } from "../../src/linux-bridge-webhook/pod-review.ts";
import { share } from "../support/share.ts";

const BR1 = "bridge.network.kubevirt.io/br1";
const NETWORKS = "k8s.v1.cni.cncf.io/networks";
const DEFAULT = "v1.multus-cni.io/default-network";

const withBr1: NetworkLookup = { kind: "found", annotations: { [NAD_RESOURCE_NAME_ANNOTATION]: BR1 } };

/** `cached` need no question to the API server; `others` do. Whatever else is asked for is missing. */
class Networks implements NetworkLookups {
  /** Questions to the API server. */
  readonly asked: string[] = [];
  readonly #cached: Record<string, NetworkLookup>;
  readonly #others: Record<string, NetworkLookup>;

  constructor(cached: Record<string, NetworkLookup>, others: Record<string, NetworkLookup> = {}) {
    this.#cached = cached;
    this.#others = others;
  }

  cached({ namespace, name }: { namespace: string; name: string }): NetworkLookup | undefined {
    return this.#cached[`${namespace}/${name}`];
  }

  async find({ namespace, name }: { namespace: string; name: string }): Promise<NetworkLookup> {
    this.asked.push(`${namespace}/${name}`);
    return this.#others[`${namespace}/${name}`] ?? { kind: "missing" };
  }
}

const DENY = { unusableNetworks: "Deny", globalNamespaces: undefined } as const;

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
  networks: NetworkLookups | Record<string, NetworkLookup>,
  options: Partial<PodReviewOptions> = {},
): Promise<AdmissionAnswer> {
  const lookups = "find" in networks ? (networks as NetworkLookups) : new Networks({}, networks);
  return podReview({ ...DENY, ...options, networks: lookups })(podRequest(annotations), AbortSignal.timeout(1000));
}

const injected = [
  { op: "add", path: "/spec/containers/0/resources", value: { requests: { [BR1]: "1" }, limits: { [BR1]: "1" } } },
  {
    op: "add",
    path: "/metadata/annotations/linux-bridge.network.kubevirt.io~1injected",
    value: `{"${BR1}":{"from":0,"to":1}}`,
  },
];
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${index}`);

describe("the pod webhook", () => {
  it("looks networks up in the pod's namespace unless they name another", async () => {
    expect(await review({ [NETWORKS]: "br1" }, { "team/br1": withBr1 })).toEqual({
      allowed: true,
      patch: injected,
      warnings: [],
    });
    expect(await review({ [NETWORKS]: "other/br1" }, { "other/br1": withBr1 })).toMatchObject({ patch: injected });
  });

  it("answers at once, without a promise, when the cache knows all networks", () => {
    const networks = new Networks({ "team/br1": withBr1 });
    const answer = podReview({ ...DENY, networks })(podRequest({ [NETWORKS]: "br1" }), AbortSignal.timeout(1000));
    expect(answer).toEqual({ allowed: true, patch: injected, warnings: [] });
    expect(networks.asked).toEqual([]);
  });

  it("counts the default network too", async () => {
    expect(await review({ [DEFAULT]: "team/br1" }, { "team/br1": withBr1 })).toMatchObject({ patch: injected });
    expect(await review({ [DEFAULT]: "br1" }, { "kube-system/br1": withBr1 })).toMatchObject({ patch: injected });
  });

  it("injects nothing for two default networks, which multus refuses", async () => {
    expect(await review({ [DEFAULT]: "team/br1,team/br1" }, { "team/br1": withBr1 })).toMatchObject({
      allowed: true,
      patch: [],
      warnings: [expect.stringContaining("it names more than one network")],
    });
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
    const options = { unusableNetworks: "Warn" } as const;
    expect(await review({ [NETWORKS]: "br1, other/br2" }, { "team/br1": withBr1 }, options)).toEqual({
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

  it("does not deny where there are no NetworkAttachmentDefinitions at all, and asks once", async () => {
    const networks = new Networks({}, { "team/br1": { kind: "unsupported" } });
    expect(await review({ [NETWORKS]: "br1,br2,br3" }, networks)).toMatchObject({
      allowed: true,
      patch: [],
      warnings: [expect.stringContaining("install multus first")],
    });
    expect(networks.asked).toEqual(["team/br1"]);
  });

  it.each([
    "[{",
    "br1,,br2",
    "Br1",
    "a/b/c",
    "br1@eth0@eth1",
    "br1@an-interface-name-that-is-too-long",
    '{"name":"br1"}',
    '"br1"',
    "[null]",
    '[{"name":7}]',
    '[{"namespace":"team"}]',
    '[{"name":"br1","mac":7}]',
  ])("leaves %s, which multus refuses, to multus with a warning", async (annotation) => {
    expect(await review({ [NETWORKS]: annotation }, { "team/br1": withBr1 })).toMatchObject({
      allowed: true,
      patch: [],
      warnings: [expect.stringContaining("can't be read")],
    });
  });

  it("leaves mirror pods and everything but CREATE alone", async () => {
    const ask = podReview({ ...DENY, networks: new Networks({}) });
    const signal = AbortSignal.timeout(1000);
    expect(await ask(podRequest({ [NETWORKS]: "br1" }, "UPDATE"), signal)).toEqual({ allowed: true });
    const mirror = podRequest({ [NETWORKS]: "br1", "kubernetes.io/config.mirror": "x" });
    expect(await ask(mirror, signal)).toEqual({ allowed: true });
  });

  it("gives no answer when nobody can say whether a network exists: the failurePolicy decides", async () => {
    const networks = { cached: () => undefined, find: () => Promise.reject(new Error("connection refused")) };
    await expect(review({ [NETWORKS]: "br1" }, networks)).rejects.toThrow("connection refused");
  });
});

describe("under multus' namespace isolation", () => {
  const isolated = { globalNamespaces: ["default", "shared"] };
  const known = { "team/br1": withBr1, "shared/br1": withBr1, "other/br1": withBr1 };

  it("a pod may use networks of its own and of global namespaces", async () => {
    expect(await review({ [NETWORKS]: "br1" }, known, isolated)).toMatchObject({ patch: injected });
    expect(await review({ [NETWORKS]: "shared/br1" }, known, isolated)).toMatchObject({ patch: injected });
  });

  it("a pod with a network of another namespace is refused, with the namespaces that it may use", async () => {
    expect(await review({ [NETWORKS]: "other/br1" }, known, isolated)).toEqual({
      allowed: false,
      message:
        "Pod team/web-*: NetworkAttachmentDefinition other/br1, named by annotation k8s.v1.cni.cncf.io/networks, is in a " +
        "namespace whose networks pods of team may not use: multus isolates namespaces. The pod would stay in " +
        "ContainerCreating. Use a network of one of these namespaces: team, default, shared.",
    });
  });

  it("nobody is asked whether a network of such a namespace exists", async () => {
    const networks = new Networks({});
    const there = new Networks({ "other/br1": withBr1 });
    const answers = [networks, there].map((lookups) => review({ [NETWORKS]: "other/br1" }, lookups, isolated));
    const [first, second] = await Promise.all(answers);
    expect(first).toEqual(second);
    expect([...networks.asked, ...there.asked]).toEqual([]);
  });

  it("it is only warned when told so", async () => {
    const options = { ...isolated, unusableNetworks: "Warn" } as const;
    expect(await review({ [NETWORKS]: "other/br1" }, known, options)).toMatchObject({
      allowed: true,
      warnings: [expect.stringContaining("multus isolates namespaces")],
    });
  });

  it("the default network may be in any namespace, as multus has it", async () => {
    expect(await review({ [DEFAULT]: "other/br1" }, known, isolated)).toMatchObject({ patch: injected });
  });
});

describe("an annotation without end", () => {
  it("costs one look-up where it names one network 100,000 times, and a sentence", async () => {
    const networks = new Networks({}, { "team/n": withBr1 });
    const answer = await review({ [NETWORKS]: Array(100_000).fill("n").join(",") }, networks);
    expect(networks.asked).toEqual(["team/n"]);
    expect(answer).toMatchObject({
      allowed: true,
      patch: [{ value: { requests: { [BR1]: "1024" } } }, {}],
      warnings: [expect.stringContaining("more than 1024 attachments")],
    });
  });

  it("costs five look-ups where it names networks that do not exist, and one short answer", async () => {
    const networks = new Networks({});
    const answer = await review({ [NETWORKS]: names(30_000).join(",") }, networks);
    expect(networks.asked).toHaveLength(5);
    expect(answer).toMatchObject({ allowed: false, message: expect.stringContaining("Others may be missing too.") });
    expect(JSON.stringify(answer).length).toBeLessThan(1000);
  });

  it("costs 64 look-ups where networks exist, or where a missing one is only a warning", async () => {
    const existing = new Networks({}, Object.fromEntries(names(100).map((name) => [`team/${name}`, withBr1])));
    expect(await review({ [NETWORKS]: names(100).join(",") }, existing)).toMatchObject({
      allowed: true,
      patch: [{ value: { requests: { [BR1]: "64" } } }, {}],
      warnings: [expect.stringContaining("more than 64 different networks")],
    });
    expect(existing.asked).toHaveLength(64);
    const missing = new Networks({});
    const answer = await review({ [NETWORKS]: names(100).join(",") }, missing, { unusableNetworks: "Warn" });
    expect(missing.asked).toHaveLength(64);
    expect(JSON.stringify(answer).length).toBeLessThan(4096);
  });

  it("is read in its JSON form to the same limits", async () => {
    const list = JSON.stringify(names(5000).map((name) => ({ name: name.slice(0, 3) })));
    const networks = new Networks({}, Object.fromEntries(names(1000).map((name) => [`team/${name}`, withBr1])));
    const answer = await review({ [NETWORKS]: list }, networks);
    expect(networks.asked).toHaveLength(64);
    expect(answer).toMatchObject({ allowed: true });
  });

  it("is not read at all where the API server refuses the pod for its length", async () => {
    const networks = new Networks({});
    expect(await review({ [NETWORKS]: "n,".repeat(200_000) }, networks)).toMatchObject({ allowed: true, patch: [] });
    expect(networks.asked).toEqual([]);
  });

  const name = fc.oneof(fc.stringMatching(/^[a-z0-9]{1,4}$/), fc.string({ unit: "binary" }));
  const list = fc.array(fc.record({ name, namespace: fc.option(name) }), { maxLength: 200 });
  const annotation = fc.oneof(
    fc.string({ unit: "binary" }),
    list.map((elements) => JSON.stringify(elements)),
    fc.array(name, { maxLength: 200 }).map((names) => names.join(",")),
    fc.tuple(fc.constantFrom("a,", "[", '{"', "a/b@c,"), fc.nat(50_000)).map(([piece, times]) => piece.repeat(times)),
  );

  it("is answered shortly, whatever it and that of the default network say", async () => {
    const options = fc.constantFrom("Deny" as const, "Warn" as const);
    await fc.assert(
      fc.asyncProperty(annotation, annotation, options, async (networks, defaultNetwork, unusableNetworks) => {
        const lookups = new Networks({}, { "team/a": withBr1 });
        const answer = await review({ [NETWORKS]: networks, [DEFAULT]: defaultNetwork }, lookups, { unusableNetworks });
        expect(lookups.asked.length).toBeLessThanOrEqual(64);
        expect(new Set(lookups.asked).size).toBe(lookups.asked.length);
        expect(encodeReview("1", answer).length).toBeLessThan(8192);
      }),
      { numRuns: share(500) },
    );
  });

  it("repeats the beginning of a name only, however long that is", async () => {
    const metadata = { name: "x".repeat(100_000), annotations: { [NETWORKS]: "no" } };
    const request = { ...podRequest({}), object: { metadata, spec: { containers: [] } } };
    const answer = await podReview({ ...DENY, networks: new Networks({}) })(request, AbortSignal.timeout(1000));
    expect(answer).toMatchObject({ allowed: false, message: expect.stringMatching(/^Pod team\/x{250}\.\.\.: /) });
    expect(JSON.stringify(answer).length).toBeLessThan(1_024);
  });
});
