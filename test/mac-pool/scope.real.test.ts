import { beforeAll, describe, expect, it, vi } from "vitest";
import { NETWORKS_ANNOTATION, POD_WEBHOOK, VM_WEBHOOK } from "../../src/api/names.ts";
import { type KubeObject, type OwnerReference, RESOURCES } from "../../src/kube/client/resource.ts";
import { isManaged } from "../../src/mac-pool/objects/management.ts";
import { macPoolWebhooks } from "../../src/operator/components/kube-mac-pool-webhooks.ts";
import { kubevirtCrds } from "../cluster/kubevirt/crds.ts";
import { client } from "../support/api-server-bed.ts";
import { guestSpec, machine, type TestInterface } from "./machines.ts";
import { MemoryClaimStore } from "./memory-claim-store.ts";
import { review, reviewParts } from "./webhooks/review-bed.ts";

/**
 * Which requests the API server would send to the pool, beside what the pool's code thinks of the same objects. Each
 * webhook's selectors and match conditions become an admission policy that warns of every request that they match.
 */

const WITHIN = { timeout: 30_000, interval: 100 };
const POOL_NAMESPACE = "pool-system";
const EXCLUDED = ["kube-system", POOL_NAMESPACE];
const NAMESPACES: Readonly<Record<string, Record<string, string>>> = {
  plain: {},
  "kube-system": {},
  [POOL_NAMESPACE]: {},
  "vms-opted-out": { [VM_WEBHOOK]: "ignore" },
  "vms-opted-in": { [VM_WEBHOOK]: "allocate" },
  "pods-opted-in": { [POD_WEBHOOK]: "allocate" },
  "pods-opted-out": { [POD_WEBHOOK]: "ignore" },
  "run-level-0": { runlevel: "0", [POD_WEBHOOK]: "allocate" },
  "run-level-1": { "openshift.io/run-level": "1", [POD_WEBHOOK]: "allocate" },
  "run-level-2": { runlevel: "2", [POD_WEBHOOK]: "allocate" },
};

interface Webhook {
  readonly name: string;
  readonly rules: readonly object[];
  readonly matchConditions: readonly object[];
  readonly namespaceSelector: object;
}

function policyOf({ name, rules, matchConditions, namespaceSelector }: Webhook): KubeObject[] {
  const apiVersion = "admissionregistration.k8s.io/v1";
  return [
    {
      apiVersion,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name },
      spec: {
        matchConstraints: { resourceRules: rules, namespaceSelector },
        matchConditions,
        validations: [{ expression: "false", message: `calls ${name}` }],
      },
    },
    {
      apiVersion,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name },
      spec: { policyName: name, validationActions: ["Warn"] },
    },
  ];
}

const pathOf = ({ kind, metadata: { namespace } }: KubeObject): string =>
  kind === "Pod"
    ? `/api/v1/namespaces/${namespace}/pods`
    : `/apis/kubevirt.io/v1/namespaces/${namespace}/${kind?.toLowerCase()}s`;

/** The webhooks that a request of the administrator would call. It is stored only as an update. */
async function calledBy(
  method: "POST" | "PUT",
  object: KubeObject,
  headers: Record<string, string> = {},
): Promise<string[]> {
  const path = method === "POST" ? `${pathOf(object)}?dryRun=All` : `${pathOf(object)}/${object.metadata.name}`;
  const answer = await client.raw(method, path, { body: object, headers });
  if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
  const warnings = [answer.headers.warning ?? []].flat().join();
  return [...warnings.matchAll(/calls ([a-z.]+)/g)].map(([, name = ""]) => name);
}

const vmi = (namespace: string, ownerReferences: readonly OwnerReference[] = []): KubeObject => ({
  apiVersion: "kubevirt.io/v1",
  kind: "VirtualMachineInstance",
  metadata: { name: "web", namespace, ...(ownerReferences.length > 0 && { ownerReferences }) },
  spec: guestSpec([{ name: "a" }]),
});

const pod = (namespace: string, annotations: Record<string, string>, labels: Record<string, string> = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace, annotations, labels },
  spec: { containers: [{ name: "web", image: "web" }], serviceAccountName: "default" },
});

const ASKS = { [NETWORKS_ANNOTATION]: "br1-net" };
const OWNER = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "web", uid: "1" };

const MAC = { macAddress: "02:00:00:00:00:01" };
const INTERFACES: readonly (readonly TestInterface[])[] = [
  [],
  [{ name: "a" }],
  [{ name: "a", ...MAC }],
  [{ name: "a", macAddress: "02:00:00:00:00:02" }],
  [{ name: "a", state: "absent" }],
  [{ name: "a", on: "pod" }],
  [{ name: "a", on: "pod", ...MAC }],
  [{ name: "a", on: "pod-bridge" }],
  [{ name: "a", ...MAC }, { name: "b" }],
];

describe("the scope of the MAC pool", () => {
  beforeAll(async () => {
    for (const crd of kubevirtCrds()) await client.create(RESOURCES.crds, crd as never);
    for (const [name, labels] of Object.entries(NAMESPACES)) {
      if (name !== "kube-system") await client.create(RESOURCES.namespaces, { metadata: { name, labels } });
      await client.create(RESOURCES.serviceAccounts, { metadata: { name: "default", namespace: name } });
    }
    const served = async (path: string) => (await client.raw("GET", path)).status === 200;
    await vi.waitUntil(() => served("/apis/kubevirt.io/v1/virtualmachines"), WITHIN);
    await vi.waitUntil(() => served("/apis/kubevirt.io/v1/virtualmachineinstances"), WITHIN);
    const { webhooks } = macPoolWebhooks(POOL_NAMESPACE, {}) as KubeObject & { readonly webhooks: readonly Webhook[] };
    for (const [policy, binding] of webhooks.map(policyOf)) {
      await client.create(RESOURCES.validatingAdmissionPolicies, policy as never);
      await client.create(RESOURCES.validatingAdmissionPolicyBindings, binding as never);
    }
    const samples = [
      machine("web", "plain", [{ name: "a" }]),
      vmi("plain"),
      vmi("plain", [OWNER]),
      pod("pods-opted-in", ASKS),
    ];
    for (const sample of samples) await vi.waitUntil(async () => (await calledBy("POST", sample)).length === 1, WITHIN);
  });

  it.each(Object.keys(NAMESPACES))("is the same in namespace %s for the API server and for the pool", async (name) => {
    const objects = [machine("web", name, [{ name: "a" }]), vmi(name), vmi(name, [OWNER]), pod(name, ASKS)];
    for (const object of objects) {
      const called = (await calledBy("POST", object)).length > 0;
      const managed = isManaged(object.kind as "Pod", object, NAMESPACES[name], EXCLUDED, true);
      expect({ kind: object.kind, called }).toEqual({ kind: object.kind, called: managed });
    }
  });

  it("leaves out pods without networks, and launcher pods that virt-controller makes", async () => {
    expect(await calledBy("POST", pod("pods-opted-in", {}))).toEqual([]);
    const launcher = pod("pods-opted-in", ASKS, { "kubevirt.io": "virt-launcher" });
    const account = "system:serviceaccount:kubevirt:kubevirt-controller";
    const groups = { "Impersonate-Group": "system:masters" };
    expect(await calledBy("POST", launcher, { "Impersonate-User": account, ...groups })).toEqual([]);
    expect(await calledBy("POST", launcher, { "Impersonate-User": "tenant", ...groups })).toEqual([POD_WEBHOOK]);
  });

  it("asks about a VMI of a VM only whether it may start", async () => {
    expect(await calledBy("POST", vmi("plain"))).toEqual(["mutatevirtualmachineinstances.kubemacpool.io"]);
    expect(await calledBy("POST", vmi("plain", [OWNER]))).toEqual(["startvirtualmachineinstances.kubemacpool.io"]);
  });

  it("has every update of a VM in it for which the pool would do something", async () => {
    let name = 0;
    const missed: object[] = [];
    let acted = 0;
    for (const before of INTERFACES) {
      for (const after of INTERFACES) {
        const old = machine(`vm-${name++}`, "vms-opted-out", before);
        const stored = await client.raw("POST", pathOf(old), { body: old });
        const { metadata } = stored.body as KubeObject;
        const changed = { ...machine(metadata.name as string, "vms-opted-out", after), metadata };
        const store = new MemoryClaimStore();
        const request = { operation: "UPDATE" as const, oldObject: stored.body as KubeObject };
        const { answer } = await review(changed, request, reviewParts(store));
        const acts = !answer.allowed || answer.patch !== undefined || store.writes.length > 0;
        acted += Number(acts);
        const called = await calledInPlain(old, changed);
        if (acts && !called) missed.push({ before, after });
      }
    }
    expect(missed).toEqual([]);
    expect(acted).toBeGreaterThan(INTERFACES.length);
  });

  /** The same update in a managed namespace. */
  async function calledInPlain(old: KubeObject, changed: KubeObject): Promise<boolean> {
    const { name } = old.metadata;
    const there = { ...old, metadata: { name, namespace: "plain" } };
    const { resourceVersion } = ((await client.raw("POST", pathOf(there), { body: there })).body as KubeObject)
      .metadata;
    const update = { ...changed, metadata: { name, namespace: "plain", resourceVersion } } as KubeObject;
    return (await calledBy("PUT", update)).includes(VM_WEBHOOK);
  }

  it("has no update of a VM in it that changes nothing of the pool's", async () => {
    for (const [index, nics] of [
      [],
      [{ name: "a", ...MAC }],
      [{ name: "a", on: "pod-bridge" as const }],
      [{ name: "a", state: "absent" }],
    ].entries()) {
      const vm = machine(`quiet-${index}`, "plain", nics);
      const stored = (await client.raw("POST", pathOf(vm), { body: vm })).body as KubeObject;
      const started = { ...stored, spec: { ...(stored.spec as object), runStrategy: "Always" } };
      expect(await calledBy("PUT", started)).toEqual([]);
    }
  });
});
