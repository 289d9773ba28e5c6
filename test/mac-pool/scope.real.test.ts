import { beforeAll, describe, expect, it, vi } from "vitest";
import { WAIT_AS_RECEIVER } from "../../src/api/mac-pool-scope.ts";
import { NETWORKS_ANNOTATION, POD_WEBHOOK, VM_WEBHOOK, VMI_WEBHOOK } from "../../src/api/names.ts";
import { type KubeObject, type OwnerReference, RESOURCES } from "../../src/kube/client/resource.ts";
import { requestMatters } from "../../src/mac-pool/objects/guest-changes.ts";
import { guestInterfaces, VM_TEMPLATE_SPEC } from "../../src/mac-pool/objects/guest-interfaces.ts";
import { isManaged } from "../../src/mac-pool/objects/management.ts";
import { macPoolWebhooks } from "../../src/operator/components/kube-mac-pool-webhooks.ts";
import { kubevirtCrds } from "../cluster/kubevirt/crds.ts";
import { client } from "../support/api-server-harness.ts";
import { inFlight } from "../support/in-flight.ts";
import { bindClusterRole, user } from "../support/rights.ts";
import { review, reviewParts } from "./admission/review-fixture.ts";
import { INTERFACES, MAC } from "./interface-lists.ts";
import { guestSpec, machine, type TestInterface } from "./machines.ts";
import { MemoryClaimStore } from "./memory-claim-store.ts";

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

const vmi = (
  namespace: string,
  ownerReferences: readonly OwnerReference[] = [],
  interfaces: readonly TestInterface[] = [{ name: "a", ...MAC }],
): KubeObject => ({
  apiVersion: "kubevirt.io/v1",
  kind: "VirtualMachineInstance",
  metadata: { name: "web", namespace, ...(ownerReferences.length > 0 && { ownerReferences }) },
  spec: guestSpec(interfaces),
});

const pod = (namespace: string, annotations: Record<string, string>, labels: Record<string, string> = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace, annotations, labels },
  spec: { containers: [{ name: "web", image: "web" }], serviceAccountName: "default" },
});

const ASKS = { [NETWORKS_ANNOTATION]: "br1-net" };
const OWNER = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "web", uid: "1" };

/** What else of a VM a request may change. */
interface Rest {
  readonly runStrategy?: string;
  readonly labels?: Record<string, string>;
}
const OPTED_OUT = { labels: { [VM_WEBHOOK]: "ignore" } };
const CHANGES: readonly (readonly [before: Rest, after: Rest])[] = [
  [{}, {}],
  [{ runStrategy: "Halted" }, { runStrategy: "Always" }],
  [{ runStrategy: "Always" }, { runStrategy: "Halted" }],
  [{ runStrategy: "Always" }, { runStrategy: "Manual" }],
  [{ runStrategy: WAIT_AS_RECEIVER }, { runStrategy: "Halted" }],
  [{ runStrategy: "Halted" }, { runStrategy: "Always", ...OPTED_OUT }],
  [{}, { labels: { app: "web" } }],
  [{}, OPTED_OUT],
  [OPTED_OUT, {}],
  [OPTED_OUT, OPTED_OUT],
];

type Update = { readonly before: KubeObject; readonly after: KubeObject };

function updates(): Update[] {
  const made: Update[] = [];
  const vm = (interfaces: readonly TestInterface[], { runStrategy, labels }: Rest): KubeObject => {
    const bare = machine(`vm-${made.length}`, "plain", interfaces, labels);
    return { ...bare, spec: { ...(bare.spec as object), runStrategy } };
  };
  for (const [was, is] of CHANGES) {
    for (const before of INTERFACES) {
      // With another strategy or label, the same interfaces and one other selection say enough.
      const others = was === CHANGES[0]?.[0] ? INTERFACES : [before, INTERFACES[1] ?? []];
      for (const after of others) made.push({ before: vm(before, was), after: vm(after, is) });
    }
  }
  return made;
}

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
      const managed = isManaged(object.kind as "Pod", object, NAMESPACES[name], EXCLUDED, () => true);
      expect({ kind: object.kind, called }).toEqual({ kind: object.kind, called: managed });
    }
  });

  it("leaves out pods without networks", async () => {
    expect(await calledBy("POST", pod("pods-opted-in", {}))).toEqual([]);
    for (const none of [" ", "[]"])
      expect(await calledBy("POST", pod("pods-opted-in", { [NETWORKS_ANNOTATION]: none }))).toEqual([]);
  });

  it("has updates of a pod in it that ask for other networks, and no others", async () => {
    const namespace = "pods-opted-in";
    const stored = async (name: string, annotations: Record<string, string>) => {
      const made = { ...pod(namespace, annotations), metadata: { name, namespace, annotations } };
      return (await client.raw("POST", pathOf(made), { body: made })).body as KubeObject;
    };
    const called = (object: KubeObject, annotations: Record<string, string>, labels = {}) => {
      const { name, uid } = object.metadata;
      return calledBy("PUT", { ...object, metadata: { name, namespace, uid, annotations, labels } } as KubeObject);
    };
    const bare = await stored("bare", {});
    expect(await called(bare, { other: "text" })).toEqual([]);
    expect(await called(bare, { [NETWORKS_ANNOTATION]: "[]" })).toEqual([]);
    expect(await called(bare, ASKS)).toEqual([POD_WEBHOOK]);
    const asking = await stored("asking", ASKS);
    expect(await called(asking, ASKS, { app: "web" })).toEqual([]);
    expect(await called(asking, { ...ASKS, other: "text" })).toEqual([]);
    expect(await called(asking, { [NETWORKS_ANNOTATION]: "br1-net, br2-net" })).toEqual([POD_WEBHOOK]);
    expect(await called(asking, {})).toEqual([]);
  });

  it("leaves out launcher pods of virt-controller wherever KubeVirt lives, and not those of a namesake", async () => {
    const launcher = pod("pods-opted-in", ASKS, { "kubevirt.io": "virt-launcher" });
    const calledFor = (user: string) => calledBy("POST", launcher, { "Impersonate-User": user });
    const accountIn = (namespace: string) => `system:serviceaccount:${namespace}:kubevirt-controller`;
    const verbs = ["create", "update"];
    const rules = [{ apiGroups: ["", "kubevirt.io"], resources: ["pods", "virtualmachineinstances"], verbs }];
    await client.create(RESOURCES.clusterRoles, { metadata: { name: "controller" }, rules });
    const [real, namesake] = [["kubevirt", "harvester-system"].map(accountIn), accountIn("pods-opted-in")];
    await bindClusterRole(client, "controller", ["administrator", ...real].map(user));
    await bindClusterRole(client, "controller", user(namesake), { namespace: "pods-opted-in" });
    const isCalled = async (user: string, called: readonly string[]) => expect(await calledFor(user)).toEqual(called);
    for (const user of real) await vi.waitFor(() => isCalled(user, []), WITHIN);
    for (const user of [namesake, "administrator"]) await isCalled(user, [POD_WEBHOOK]);
  });

  it("asks about a VMI of a VM only whether it may start", async () => {
    expect(await calledBy("POST", vmi("plain"))).toEqual(["mutatevirtualmachineinstances.kubemacpool.io"]);
    expect(await calledBy("POST", vmi("plain", [OWNER]))).toEqual(["startvirtualmachineinstances.kubemacpool.io"]);
    for (const interfaces of [[], [{ name: "a" }], [{ name: "a", ...MAC, on: "pod-bridge" as const }]])
      expect(await calledBy("POST", vmi("plain", [OWNER], interfaces))).toEqual([]);
  });

  it("is the same for an update of a VM by CEL and by code, and has every update in it for which the pool does something", async () => {
    const found = await inFlight(16, updates().length, async (index) => {
      const { before, after } = updates()[index] as Update;
      const stored = (await client.raw("POST", pathOf(before), { body: before })).body as KubeObject;
      const { name, namespace, uid, resourceVersion } = stored.metadata;
      const changed = {
        ...after,
        metadata: { ...after.metadata, name, namespace, uid, resourceVersion },
      } as KubeObject;
      const store = new MemoryClaimStore();
      const { answer } = await review(changed, { operation: "UPDATE", oldObject: stored }, reviewParts(store));
      const acts = !answer.allowed || answer.patch !== undefined || store.writes.length > 0;
      const interfaces = guestInterfaces(changed, VM_TEMPLATE_SPEC);
      const byCode = requestMatters({
        object: changed,
        oldObject: stored,
        interfaces,
        before: guestInterfaces(stored, VM_TEMPLATE_SPEC),
      });
      const byCel = (await calledBy("PUT", changed)).includes(VM_WEBHOOK);
      return { before, after, acts, byCode, byCel };
    });
    expect(found.filter(({ byCode, byCel }) => byCode !== byCel)).toEqual([]);
    expect(found.filter(({ acts, byCel }) => acts && !byCel)).toEqual([]);
    for (const kind of ["acts", "byCel"] as const) {
      expect(found.filter((update) => update[kind]).length).toBeGreaterThan(INTERFACES.length);
      expect(found.filter((update) => !update[kind]).length).toBeGreaterThan(INTERFACES.length);
    }
  });

  it("is the same for what is new by CEL and by code", async () => {
    for (const interfaces of INTERFACES) {
      for (const labels of [undefined, OPTED_OUT.labels]) {
        const vm = machine("new", "plain", interfaces, labels);
        const instance = { ...vmi("plain", [], interfaces), metadata: { name: "new", namespace: "plain", labels } };
        const matters = requestMatters({
          object: vm,
          oldObject: null,
          interfaces: guestInterfaces(vm, VM_TEMPLATE_SPEC),
          before: [],
        });
        expect({ interfaces, labels, called: await calledBy("POST", vm) }).toEqual({
          interfaces,
          labels,
          called: matters ? [VM_WEBHOOK] : [],
        });
        expect(await calledBy("POST", instance as KubeObject)).toEqual(matters ? [VMI_WEBHOOK] : []);
      }
    }
  });

  it("can be found out for a VM with 128 interfaces", async () => {
    const stored = async (name: string) => {
      const nics = Array.from({ length: 128 }, (_, index) => ({ name: `net-${index}`, ...MAC }));
      const vm = machine(name, "plain", nics);
      const { metadata } = (await client.raw("POST", pathOf(vm), { body: vm })).body as KubeObject;
      return (each: object, last: object): KubeObject => {
        const changed = nics.map((nic, index) => ({ ...nic, ...each, ...(index === 127 && last) }));
        return { ...machine(name, "plain", changed), metadata };
      };
    };
    expect(await calledBy("PUT", (await stored("unplugged"))({ state: "absent" }, {}))).toEqual([]);
    const noted = { macAddress: "0200.0000.0001" };
    expect(await calledBy("PUT", (await stored("noted"))(noted, {}))).toEqual([]);
    expect(await calledBy("PUT", (await stored("bare"))(noted, { macAddress: "020000000001" }))).toEqual([VM_WEBHOOK]);
    expect(await calledBy("PUT", (await stored("changed"))({}, { network: "br2-net" }))).toEqual([VM_WEBHOOK]);
  });
});
