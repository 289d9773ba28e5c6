import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION, POD_WEBHOOK } from "../../src/api/names.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { guestSpec, instanceOf, machine } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

const OLD = "02:5d:1c:00:00:0d";

describe("objects that run, on a real API server", () => {
  let fixture: PoolFixture;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    for (const name of ["shared", "pods", "target"]) {
      const labels = name === "pods" ? { [POD_WEBHOOK]: "allocate" } : {};
      await fixture.admin.create(RESOURCES.namespaces, { metadata: { name, labels } });
      await fixture.admin.create(RESOURCES.serviceAccounts, { metadata: { name: "default", namespace: name } });
    }
    // Two holders of one address, from before there was a pool.
    for (const name of ["old-a", "old-b"]) await create(machine(name, "shared", [{ name: "a", macAddress: OLD }]));
    await fixture.startReplica("one");
    await fixture.createPool("default", {
      ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:ff:ff" }],
      conflictPolicy: "DenyRunning",
      quarantineSeconds: 1,
    });
    await fixture.registerWebhooks();
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  const create = (vm: KubeObject): Promise<KubeObject> => fixture.admin.create(KINDS.virtualMachines, vm);
  const twins = async (mac: string, ...names: string[]): Promise<KubeObject[]> => {
    const made: KubeObject[] = [];
    for (const name of names) made.push(await create(machine(name, "shared", [{ name: "a", macAddress: mac }])));
    return made;
  };

  /** What virt-controller does when a VM starts. */
  const start = (vm: KubeObject): Promise<KubeObject> => fixture.admin.create(KINDS.instances, instanceOf(vm));
  const started = (vm: KubeObject): Promise<string> =>
    start(vm).then(
      () => "started",
      (error: Error) => error.message,
    );

  const setStatus = async (vmi: KubeObject, status: object): Promise<void> => {
    const { name = "", namespace = "" } = vmi.metadata;
    await fixture.admin.patch(
      KINDS.instances,
      { name, namespace },
      { type: "merge", body: { status } },
      { subresource: "status" },
    );
  };
  const reports = (vmi: KubeObject, mac: string, more: object = {}): Promise<void> =>
    setStatus(vmi, { phase: "Running", nodeName: "node-a", interfaces: [{ name: "a", mac }], ...more });
  const stop = async ({ metadata: { name = "", namespace = "" } }: KubeObject): Promise<void> => {
    await fixture.admin.delete(KINDS.instances, { name, namespace });
  };
  const gauge = async (mac: string): Promise<number> => {
    const line = (await fixture.metrics("one")).split("\n").find((each) => each.includes(`{mac="${mac}"}`));
    return line === undefined ? 0 : Number(line.split(" ").at(-1));
  };
  const eventsOf = async (namespace: string, name: string, reason: string): Promise<string[]> => {
    const { items } = await fixture.admin.list(RESOURCES.events, { namespace });
    return items
      .filter((event) => event.reason === reason && event.regarding?.name === name)
      .map((event) => event.note ?? "");
  };

  it("adopts what two objects had before the pool came, with both as owners, and reports it", async () => {
    await eventually("both are owners", async () => (await fixture.claim(OLD))?.status?.owners.length === 2);
    await eventually("the pool counts a conflict", async () => {
      const { status } = await fixture.admin.get(KINDS.pools, { name: "default" });
      return status?.conflicts === 1;
    });
    await eventually("KubeMacPool's metric counts the second", async () =>
      (await fixture.metrics("one")).includes("\nkubevirt_kmp_duplicate_macs 1\n"),
    );
    for (const name of ["old-a", "old-b"]) {
      await eventually(`an event on ${name}`, async () =>
        (await eventsOf("shared", name, "MACShared")).some((note) => note.includes("old-a") && note.includes("old-b")),
      );
    }
  });

  it("lets several stopped VMs have one address, and one of them run", async () => {
    const [a, b] = await twins("02:5d:1c:00:01:01", "deny-a", "deny-b");
    if (a === undefined || b === undefined) throw new Error("no VMs");
    const instance = await start(a);
    expect(await started(b)).toContain(
      "VirtualMachine shared/deny-b can't start: VirtualMachine shared/deny-a has the same MAC 02:5d:1c:00:01:01",
    );
    await setStatus(instance, { phase: "Succeeded" });
    await stop(instance);
    // A VM that is stopped keeps its address.
    expect((await fixture.claim("02:5d:1c:00:01:01"))?.status).toMatchObject({
      owners: [{ name: "deny-a" }, { name: "deny-b" }],
    });
    // The start counts for as long as a request can live, whatever became of it.
    expect(await started(b)).toMatch(/is starting; it counts as running until \S+Z\. Try again then/);
    expect(await started(a)).toBe("started");
  });

  it("keeps no VM from running for a pod of a namespace that does not opt in, whatever that asks for and says", async () => {
    const mac = "02:5d:1c:00:05:01";
    const annotations = {
      [NETWORKS_ANNOTATION]: JSON.stringify([{ name: "n", mac }]),
      [NETWORK_STATUS_ANNOTATION]: JSON.stringify([{ name: "target/n", interface: "net1", mac }]),
    };
    const pod = {
      metadata: { name: "stranger", namespace: "target", annotations },
      spec: { nodeName: "node-a", containers: [{ name: "c", image: "none" }] },
    };
    await fixture.admin.create(KINDS.pods, pod);
    const path = "/apis/kubevirt.io/v1/namespaces/shared/virtualmachines?dryRun=All";
    const body = machine("asking", "shared", [{ name: "a", macAddress: mac }]);
    await eventually("the pool knows of the pod", async () =>
      String((await fixture.admin.raw("POST", path, { body })).headers.warning).includes(
        "listed by Pod target/stranger",
      ),
    );
    const [vm] = await twins(mac, "beside-stranger");
    if (vm === undefined) throw new Error("no VM");
    expect(await started(vm)).toBe("started");
  });

  it("keeps an address out of a VM that runs while another runs with it", async () => {
    const [own, shared] = ["02:5d:1c:00:03:01", "02:5d:1c:00:03:02"];
    const [plugged] = await twins(own, "plugged");
    const [other] = await twins(shared, "plug-other");
    if (plugged === undefined || other === undefined) throw new Error("no VMs");
    await start(plugged);
    await start(other);
    const { spec } = machine("plugged", "shared", [
      { name: "a", macAddress: own },
      { name: "b", macAddress: shared },
    ]);
    const plugIn = (): Promise<KubeObject> =>
      fixture.admin.patch(
        KINDS.virtualMachines,
        { name: "plugged", namespace: "shared" },
        { type: "merge", body: { spec } },
      );
    await expect(plugIn()).rejects.toThrow(
      'VirtualMachine shared/plugged can\'t get interface "b" while it runs: VirtualMachine shared/plug-other has the ' +
        `same MAC ${shared} and is running.`,
    );
    expect((await fixture.admin.get(KINDS.virtualMachines, { name: "plugged", namespace: "shared" })).spec).toEqual(
      plugged.spec,
    );
  });

  it("keeps an address out of a VM that was started while its change was on the way", async () => {
    const [own, shared] = ["02:5d:1c:00:04:01", "02:5d:1c:00:04:02"];
    const [late] = await twins(own, "late");
    const [other] = await twins(shared, "late-other");
    if (late === undefined || other === undefined) throw new Error("no VMs");
    const running = await start(other);
    const nics = [
      { name: "a", macAddress: own },
      { name: "b", macAddress: shared },
    ];
    const ref = { name: "late", namespace: "shared" };
    const { spec } = machine("late", "shared", nics);
    await fixture.admin.patch(KINDS.virtualMachines, ref, { type: "merge", body: { spec } });
    // As virt-controller starts it that has not seen the change yet, and plugs in what it then sees.
    await start(late);
    const plugIn = (): Promise<KubeObject> =>
      fixture.admin.patch(KINDS.instances, ref, { type: "merge", body: { spec: guestSpec(nics) } });
    await expect(plugIn()).rejects.toThrow(
      'VirtualMachine shared/late can\'t get interface "b" while it runs: VirtualMachine shared/late-other has the same ' +
        `MAC ${shared} and is running.`,
    );
    await fixture.admin.patch(KINDS.instances, ref, {
      type: "merge",
      body: { metadata: { labels: { any: "update" } } },
    });
    await stop(running);
    await expect(plugIn()).rejects.toThrow("is starting; it counts as running until");
  });

  it("is no conflict for a live migration: neither for its target nor for one that waits to receive", async () => {
    const mac = "02:5d:1c:00:01:02";
    const [source] = await twins(mac, "migrating");
    if (source === undefined) throw new Error("no VM");
    const running = await start(source);
    const receiver = machine("migrating", "target", [{ name: "a", macAddress: mac }]);
    const waiting = await create({
      ...receiver,
      spec: { ...(receiver.spec as object), runStrategy: "WaitAsReceiver" },
    });
    const target = await start(waiting);
    await reports(running, mac, { migrationState: { sourceState: { migrationUID: "m1" } } });
    await reports(target, mac, { migrationState: { targetState: { migrationUID: "m1" } } });
    const [x, y] = await twins("02:5d:1c:00:01:03", "after-x", "after-y");
    if (x === undefined || y === undefined) throw new Error("no VMs");
    await reports(await start(x), "02:5d:1c:00:01:04");
    expect(await eventsOf("target", "migrating", "MACCollision")).toEqual([]);
    expect(await gauge(mac)).toBe(0);
  });

  it("collides at run time: an event on every ref naming all, and a number, until one has stopped", async () => {
    const mac = "02:5d:1c:00:02:01";
    const [a] = await twins(mac, "run-a");
    if (a === undefined) throw new Error("no VM");
    const first = await start(a);
    await reports(first, mac);
    // A guest that gave itself the address, and a pod that nobody asked about.
    const other = await fixture.admin.create(KINDS.instances, {
      metadata: { name: "changed", namespace: "shared" },
      spec: guestSpec([{ name: "a" }]),
    } as KubeObject);
    await reports(other, mac);
    await eventually("two refs", async () => (await gauge(mac)) === 2);
    const all = `MAC ${mac}: Collision between vmi/shared/changed, vmi/shared/run-a. `;
    for (const name of ["run-a", "changed"]) {
      await eventually(`an event on ${name}`, async () =>
        (await eventsOf("shared", name, "MACCollision")).some((note) => note.startsWith(all)),
      );
    }
    await setStatus(first, { interfaces: [] });
    await eventually("over once it is unplugged", async () => (await gauge(mac)) === 0);
    await reports(first, mac);
    await eventually("again", async () => (await gauge(mac)) === 2);
    await setStatus(other, { phase: "Succeeded" });
    await eventually("over once it has stopped", async () => (await gauge(mac)) === 0);
    await setStatus(other, { phase: "Running" });
    await eventually("again", async () => (await gauge(mac)) === 2);
    await stop(other);
    await eventually("over once it is deleted", async () => (await gauge(mac)) === 0);
  });

  it("collides between pods and machines, and not with what is not managed any more", async () => {
    const mac = "02:5d:1c:00:02:02";
    const [a] = await twins(mac, "beside-pod");
    if (a === undefined) throw new Error("no VM");
    await reports(await start(a), mac);
    const setLabel = (label: string, value: string | null, name: string): Promise<unknown> =>
      fixture.admin.patch(
        RESOURCES.namespaces,
        { name },
        { type: "merge", body: { metadata: { labels: { [label]: value } } } },
      );
    await setLabel(POD_WEBHOOK, "ignore", "pods");
    await eventually("a pod gets past the pool", async () => {
      const networks = JSON.stringify([{ name: "n", mac }]);
      const metadata = { name: "intruder", namespace: "pods", annotations: { [NETWORKS_ANNOTATION]: networks } };
      const spec = { containers: [{ name: "c", image: "none" }] };
      return fixture.admin.create(KINDS.pods, { metadata, spec }).then(
        () => true,
        () => false,
      );
    });
    // The replica may see the pod before it sees that the namespace is not managed any more.
    await eventually("the pod does not count", async () => (await gauge(mac)) === 0);
    await setLabel(POD_WEBHOOK, "allocate", "pods");
    const intruder = { name: "intruder", namespace: "pods" };
    const bound = { metadata: intruder, target: { kind: "Node", name: "node-a" } };
    await fixture.admin.createSubresource(KINDS.pods, intruder, "binding", bound);
    await eventually("the pod counts on a node once its namespace is managed", async () => (await gauge(mac)) === 2);
    const events = [
      ["pods", "intruder", "pod/pods/intruder"],
      ["shared", "beside-pod", "vmi/shared/beside-pod"],
    ] as const;
    for (const [namespace, name, key] of events) {
      await eventually(`an event on ${key}, which names nothing of the other namespace`, async () =>
        (await eventsOf(namespace, name, "MACCollision")).some((note) =>
          note.startsWith(`MAC ${mac}: Collision between ${key}, an object in another namespace. `),
        ),
      );
    }
    await setLabel(POD_WEBHOOK, "ignore", "pods");
    await eventually("over once the pod's namespace is not managed", async () => (await gauge(mac)) === 0);
  });

  it("start, and get what is plugged in, without the pool when it is down", async () => {
    const [vm] = await twins("02:5d:1c:00:03:03", "lonely");
    if (vm === undefined) throw new Error("no VM");
    await fixture.killReplica("one");
    expect(await started(vm)).toBe("started");
    const body = { spec: guestSpec([{ name: "a", macAddress: "02:5d:1c:00:03:04" }]) };
    await fixture.admin.patch(KINDS.instances, { name: "lonely", namespace: "shared" }, { type: "merge", body });
  });
});
