import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WAIT_AS_RECEIVER } from "../../src/api/mac-pool-scope.ts";
import { NETWORKS_ANNOTATION, POD_WEBHOOK, VM_WEBHOOK } from "../../src/api/names.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { instanceOf, machine, macsOf, type TestInterface } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

const DOCUMENTATION = join(import.meta.dirname, "../../docs/reference/runbooks.md");
const UNMANAGED = { name: "p", on: "pod-bridge" } as const;
const SHARED = "02:5d:1c:00:00:aa";
const HOLD = "example.com/hold";

const WORKS = "works";
const WAITS = "refused until the pool is back";
const UNJUDGED = "works, and is not judged";

interface Row {
  readonly object: string;
  readonly request: string;
  readonly answer: typeof WORKS | typeof WAITS | typeof UNJUDGED;
  readonly send: () => Promise<unknown>;
}

/** What users and controllers can do while no replica runs. docs/reference/runbooks.md has the same table. */
describe("with no replica of the MAC pool", () => {
  let fixture: PoolFixture;
  const stored = new Map<string, KubeObject>();

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await label("pods", POD_WEBHOOK, "allocate");
    await label("out", VM_WEBHOOK, "ignore");
    await fixture.admin.create(RESOURCES.serviceAccounts, { metadata: { name: "default", namespace: "pods" } });
    // From before the pool: it gives no address to what exists.
    for (const name of ["stopped", "lacking", "relabelled", "unplugged-lacking"]) await keep(vm(name, [{ name: "a" }]));
    await fixture.startReplica("one");
    const ranges = [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:ff:ff" }];
    await fixture.createPool("default", { ranges, conflictPolicy: "DenyRunning" });
    await fixture.registerWebhooks();
    for (const name of ["running", "changed", "plugged", "held"]) await keep(vm(name, [{ name: "a" }, UNMANAGED]));
    for (const name of ["first", "second"]) await keep(vm(name, [{ name: "a", macAddress: SHARED }]));
    await keep(vm("receiver", [{ name: "a", macAddress: SHARED }], WAIT_AS_RECEIVER));
    await fixture.admin.create(KINDS.instances, instanceOf(kept("first")));
    await fixture.admin.create(KINDS.instances, instanceOf(kept("running")));
    await fixture.admin.create(KINDS.pods as Resource<KubeObject>, pod("old", "br1-net"));
    await expect(fixture.admin.create(KINDS.instances, instanceOf(kept("second")))).rejects.toThrow("can't start");
    await fixture.stopReplica("one");
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  const label = (name: string, key: string, value: string) =>
    fixture.admin.create(RESOURCES.namespaces, { metadata: { name, labels: { [key]: value } } });
  const vm = (name: string, nics: readonly TestInterface[], runStrategy = "Halted", namespace = "default") => {
    const bare = machine(name, namespace, nics);
    return { ...bare, spec: { ...(bare.spec as object), runStrategy } };
  };
  const create = (object: KubeObject): Promise<KubeObject> => fixture.admin.create(KINDS.virtualMachines, object);
  const keep = async (object: KubeObject): Promise<void> => {
    const made = await create(object);
    stored.set(made.metadata.name ?? "", made);
  };
  const kept = (name: string): KubeObject => {
    const found = stored.get(name);
    if (found === undefined) throw new Error(`no VM ${name}`);
    return found;
  };
  const ref = (name: string) => ({ name, namespace: "default" });
  const patch = (name: string, body: object) =>
    fixture.admin.patch(KINDS.virtualMachines, ref(name), { type: "merge", body });
  const setStrategy = (name: string, runStrategy: string) => patch(name, { spec: { runStrategy } });
  /** The interfaces that the VM has, with a change of the first one and whatever is plugged in. */
  const setInterfaces = (name: string, first: object, ...plugged: TestInterface[]) => {
    const { spec } = (kept(name).spec as { template: { spec: Spec } }).template;
    const { interfaces } = spec.domain.devices;
    const more = machine(name, "default", plugged).spec as { template: { spec: Spec } };
    const [own, added] = [spec.networks, more.template.spec.networks];
    const all = [
      { ...interfaces[0], ...first },
      ...interfaces.slice(1),
      ...more.template.spec.domain.devices.interfaces,
    ];
    return patch(name, {
      spec: { template: { spec: { domain: { devices: { interfaces: all } }, networks: [...own, ...added] } } },
    });
  };
  const setNetwork = (name: string, networkName: string) =>
    patch(name, { spec: { template: { spec: { networks: [{ name: "a", multus: { networkName } }] } } } });
  const instance = (name: string, nics: readonly TestInterface[]): KubeObject => {
    const { spec } = (machine(name, "default", nics).spec as { template: { spec: object } }).template;
    return { metadata: { name, namespace: "default" }, spec };
  };
  const setNetworks = (networks: string): Promise<KubeObject> => {
    const body = { metadata: { annotations: { [NETWORKS_ANNOTATION]: networks } } };
    return fixture.admin.patch(KINDS.pods, { name: "old", namespace: "pods" }, { type: "merge", body });
  };
  const pod = (name: string, networks?: string): KubeObject => ({
    metadata: {
      name,
      namespace: "pods",
      ...(networks !== undefined && { annotations: { [NETWORKS_ANNOTATION]: networks } }),
    },
    spec: { containers: [{ name: "web", image: "web" }], serviceAccountName: "default" },
  });
  const all = (...requests: readonly Promise<unknown>[]): Promise<unknown> => Promise.all(requests);

  const ROWS: readonly Row[] = [
    {
      object: "VM",
      request: "create, with an interface that the pool manages",
      answer: WAITS,
      send: () => create(vm("new", [{ name: "a" }])),
    },
    {
      object: "VM",
      request: "create, with no interface that the pool manages",
      answer: WORKS,
      send: () => all(create(vm("bare", [])), create(vm("foreign", [UNMANAGED]))),
    },
    {
      object: "VM",
      request: "create, in a namespace that opts out",
      answer: WORKS,
      send: () => create(vm("outside", [{ name: "a" }], "Halted", "out")),
    },
    { object: "VM", request: "start by run strategy", answer: WORKS, send: () => setStrategy("running", "Always") },
    {
      object: "VM",
      request: "start by run strategy, while an interface lacks its address",
      answer: WAITS,
      send: () => setStrategy("lacking", "Always"),
    },
    {
      object: "VM",
      request: "stop",
      answer: WORKS,
      send: async () => {
        await setStrategy("running", "Halted");
        await patch("stopped", { spec: { running: false, runStrategy: null } });
      },
    },
    {
      object: "VM",
      request: "change labels, annotations or anything else that is no interface",
      answer: WORKS,
      send: async () => {
        const body = { metadata: { labels: { app: "web" }, annotations: { note: "web" } } };
        await all(patch("running", body), patch("relabelled", body));
        await patch("relabelled", { metadata: { labels: { [VM_WEBHOOK]: "ignore" } } });
        await patch("relabelled", { metadata: { labels: { [VM_WEBHOOK]: null } } });
      },
    },
    {
      object: "VM",
      request: "plug in an interface, or give one another address or network",
      answer: WAITS,
      send: async () => {
        const plugged = setInterfaces("plugged", {}, { name: "b" });
        await expect(plugged).rejects.toThrow("failed calling webhook");
        await expect(setNetwork("changed", "br2-net")).rejects.toThrow("failed calling webhook");
        await setInterfaces("changed", { macAddress: "02:5d:1c:00:00:bb" });
      },
    },
    {
      object: "VM",
      request: "unplug an interface",
      answer: WORKS,
      send: () =>
        all(setInterfaces("plugged", { state: "absent" }), setInterfaces("unplugged-lacking", { state: "absent" })),
    },
    {
      object: "VM",
      request: `change the run strategy from ${WAIT_AS_RECEIVER}`,
      answer: WAITS,
      send: () => setStrategy("receiver", "Always"),
    },
    {
      object: "VM",
      request: "delete",
      answer: WORKS,
      send: async () => {
        await patch("held", { metadata: { finalizers: [HOLD] } });
        await fixture.admin.delete(KINDS.virtualMachines, ref("held"));
        await patch("held", { metadata: { finalizers: null } });
        await fixture.admin.delete(KINDS.virtualMachines, ref("unplugged-lacking"));
      },
    },
    {
      object: "VMI of a VM",
      request: "create, as the VM starts",
      answer: UNJUDGED,
      send: () => fixture.admin.create(KINDS.instances, instanceOf(kept("second"))),
    },
    {
      object: "VMI of a VM",
      request: "update, delete",
      answer: WORKS,
      send: async () => {
        const body = { status: { phase: "Running" } };
        await fixture.admin.patch(KINDS.instances, ref("running"), { type: "merge", body }, { subresource: "status" });
        await fixture.admin.delete(KINDS.instances, ref("running"));
      },
    },
    {
      object: "VMI without a VM",
      request: "create, with an interface that the pool manages",
      answer: WAITS,
      send: () => fixture.admin.create(KINDS.instances, instance("alone", [{ name: "a" }])),
    },
    {
      object: "VMI without a VM",
      request: "create without one, update, delete",
      answer: WORKS,
      send: async () => {
        await fixture.admin.create(KINDS.instances, instance("bare", [UNMANAGED]));
        const body = { metadata: { labels: { app: "web" } } };
        await fixture.admin.patch(KINDS.instances, ref("bare"), { type: "merge", body });
        await fixture.admin.delete(KINDS.instances, ref("bare"));
      },
    },
    {
      object: "Pod in a namespace that opts in",
      request: "create, with networks",
      answer: WAITS,
      send: () => fixture.admin.create(KINDS.pods, pod("new", "br1-net")),
    },
    {
      object: "Pod in a namespace that opts in",
      request: "plug in a network, or change one, by its annotation",
      answer: WAITS,
      send: () => setNetworks("br1-net, br2-net"),
    },
    {
      object: "Pod in a namespace that opts in",
      request: "create without networks, take all of them off, change anything else, delete",
      answer: WORKS,
      send: async () => {
        await all(fixture.admin.create(KINDS.pods, pod("bare")), fixture.admin.create(KINDS.pods, pod("none", "[]")));
        const body = { metadata: { labels: { app: "web" } } };
        await fixture.admin.patch(KINDS.pods, { name: "old", namespace: "pods" }, { type: "merge", body });
        await setNetworks("[]");
        await fixture.admin.delete(KINDS.pods, { name: "old", namespace: "pods" });
      },
    },
  ];

  it.each(ROWS.map((row) => [`${row.object}: ${row.request}: ${row.answer}`, row] as const))("%s", async (_, row) => {
    const answer = await row.send().then(
      () => "works",
      (error: Error) => error.message,
    );
    if (row.answer === WAITS) expect(answer).toContain("failed calling webhook");
    else expect(answer).toBe("works");
  });

  it("docs/reference/runbooks.md says just that", () => {
    const lines = ROWS.map(({ object, request, answer }) => `| ${object} | ${request} | ${answer} |`);
    const table = ["| object | request | with no replica |", "|---|---|---|", ...lines].join("\n");
    expect(readFileSync(DOCUMENTATION, "utf8")).toContain(`\n${table}\n\n`);
  });

  describe("and once it is back", () => {
    beforeAll(async () => {
      await fixture.startReplica("two");
    });

    it("gives a VM the address that it lacked when it starts", async () => {
      expect(macsOf(await setStrategy("lacking", "Always"))).toEqual([expect.stringMatching(/^02:5d:1c:00/)]);
    });

    it("reports what was not judged", async () => {
      await eventually("the claim names both", async () => (await fixture.claim(SHARED))?.status?.owners.length === 3);
    });
  });
});

interface Spec {
  readonly domain: { readonly devices: { readonly interfaces: readonly object[] } };
  readonly networks: readonly object[];
}
