import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { HostAddressPolicy } from "../../src/api/mac-pool.ts";
import { NETWORKS_ANNOTATION, POD_WEBHOOK } from "../../src/api/names.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { HOST_CONFLICT_EVENT } from "../../src/mac-pool/controllers/host-conflicts.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { runCommand } from "../cluster/command.ts";
import { startControlPlane } from "../cluster/control-plane/control-plane.ts";
import { eventually } from "../support/eventually.ts";
import { instanceOf, machine, macsOf } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

const POLICIES = { warn: "Warn", deny: "Deny", off: "Off" } as const satisfies Record<string, HostAddressPolicy>;
type Namespace = keyof typeof POLICIES;
const REPLICAS = ["one", "two"];

describe("addresses that nodes have, on a real API server", { timeout: 120_000 }, () => {
  let fixture: PoolFixture;

  beforeAll(async () => {
    // The garbage collector is a controller.
    fixture = await PoolFixture.start({ controlPlane: await startControlPlane({ controllerManager: true }) });
    for (const replica of REPLICAS) await fixture.startReplica(replica);
    for (const [number, [name, hostAddressPolicy]] of Object.entries(POLICIES).entries()) {
      await fixture.admin.create(RESOURCES.namespaces, {
        metadata: { name, labels: { pool: name, [POD_WEBHOOK]: "allocate" } },
      });
      await fixture.createPool(name, {
        ranges: [{ start: `02:5d:1c:0${number}:00:00`, end: `02:5d:1c:0${number}:00:07` }],
        namespaceSelector: { matchLabels: { pool: name } },
        hostAddressPolicy,
        quarantineSeconds: 0,
      });
    }
    await fixture.registerWebhooks();
  }, 120_000);
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  /** A node with a report, as its marker writes it. Every replica knows it when this resolves. */
  async function report(name: string, ...macs: string[]): Promise<void> {
    const node = await fixture.admin.create(RESOURCES.nodes, { metadata: { name } });
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid: node.metadata.uid ?? "" }];
    const addresses = macs.map((mac) => ({ mac, interface: "eno1" }));
    await fixture.admin.create(KINDS.nodeMacs, { metadata: { name, ownerReferences }, addresses });
    await everyReplicaHas(/informer_objects\{resource="nodemacs"\} ([1-9])/);
  }

  async function everyReplicaHas(line: RegExp): Promise<void> {
    await eventually(
      `every replica says ${line}`,
      async () => {
        const texts = await Promise.all(REPLICAS.map((replica) => fixture.metrics(replica)));
        return texts.every((text) => line.test(text));
      },
      // The garbage collector looks every half a minute for kinds that are new.
      { limitMs: 60_000 },
    );
  }

  async function forget(name: string): Promise<void> {
    await fixture.admin.delete(RESOURCES.nodes, { name });
    await everyReplicaHas(/informer_objects\{resource="nodemacs"\} 0/);
  }

  const create = (name: string, namespace: Namespace, macAddress?: string): Promise<KubeObject> =>
    fixture.admin.create(
      KINDS.virtualMachines,
      machine(name, namespace, [macAddress === undefined ? { name: "net1" } : { name: "net1", macAddress }]),
    );

  const apply = (vm: KubeObject) => {
    const { kubectlPath, kubeconfig } = fixture.controlPlane;
    return runCommand([kubectlPath, "--kubeconfig", kubeconfig, "apply", "-f", "-"], { stdin: JSON.stringify(vm) });
  };

  it("are refused, warned about or admitted by the policy, as kubectl prints it, and freed with their node", async () => {
    const mac = "52:54:00:aa:00:01";
    await report("node-a", mac);
    const vm = (namespace: Namespace) => machine("web", namespace, [{ name: "net1", macAddress: mac }]);
    const refused = await apply(vm("deny"));
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain(
      `MAC ${mac} of interface "net1" in VirtualMachine deny/web is the address of interface eno1 of node node-a. ` +
        "The two would receive each other's traffic. Leave macAddress out to get an address from the pool, or choose another one.",
    );
    const annotations = { [NETWORKS_ANNOTATION]: JSON.stringify([{ name: "br1-net", mac }]) };
    const pod = await apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web", namespace: "deny", annotations },
      spec: { containers: [{ name: "main", image: "any" }] },
    });
    expect(pod.stderr).toContain(
      `MAC ${mac} of interface "net1" in Pod deny/web is the address of interface eno1 of node node-a. ` +
        "The two would receive each other's traffic. Leave mac out",
    );
    const warned = await apply(vm("warn"));
    expect(warned).toMatchObject({ code: 0, stdout: "virtualmachine.kubevirt.io/web created\n" });
    expect(warned.stderr).toContain(
      `Warning: MAC ${mac} of interface "net1" is also the address of interface eno1 of node node-a. They disturb each other ` +
        "on the same network. Leave macAddress out to get an address from the pool.",
    );
    await fixture.admin.delete(KINDS.virtualMachines, { name: "web", namespace: "warn" });
    await eventually("the address is free", async () => (await fixture.claim(mac)) === undefined);
    expect(await apply(vm("off"))).toMatchObject({ code: 0, stderr: "" });
    await fixture.admin.delete(KINDS.virtualMachines, { name: "web", namespace: "off" });
    await eventually("the address is free", async () => (await fixture.claim(mac)) === undefined);

    await forget("node-a");
    expect(await apply(vm("deny"))).toMatchObject({ code: 0, stderr: "" });
    await fixture.admin.delete(KINDS.virtualMachines, { name: "web", namespace: "deny" });
  });

  it("stay with the VM that had them first: it is changed, started and reported, and nothing is taken away", async () => {
    const mac = "02:5d:1c:01:00:00";
    await create("first", "deny", mac);
    await report("node-b", mac);
    const ref = { name: "first", namespace: "deny" };
    await fixture.admin.patch(KINDS.virtualMachines, ref, {
      type: "merge",
      body: { metadata: { labels: { a: "b" } } },
    });
    const more = machine("first", "deny", [{ name: "net1", macAddress: mac }, { name: "net2" }]);
    const changed = await fixture.admin.patch(KINDS.virtualMachines, ref, { type: "merge", body: { spec: more.spec } });
    expect(macsOf(changed)[0]).toBe(mac);
    await fixture.admin.create(KINDS.instances, instanceOf(changed));
    await expect(create("second", "deny", mac)).rejects.toThrow("is the address of interface eno1 of node node-b");
    expect((await fixture.claim(mac))?.status?.owners).toMatchObject([{ name: "first" }]);

    await eventually("an event on the VM", async () => {
      const { items } = await fixture.admin.list(RESOURCES.events, { namespace: "deny" });
      return items.some(({ reason, note }) => reason === HOST_CONFLICT_EVENT && note?.includes("of node node-b"));
    });
    await eventually("the status counts it", async () => {
      return (await fixture.admin.get(KINDS.pools, { name: "deny" })).status?.hostConflicts === 1;
    });
    await everyReplicaHas(/kubevirt_macpool_host_conflicts 1/);
    await fixture.admin.delete(KINDS.instances, ref);
    await fixture.admin.delete(KINDS.virtualMachines, ref);
    await forget("node-b");
  });

  it("are never given out, however many VMs are created at once, and the status counts them as not free", async () => {
    const all = Array.from({ length: 8 }, (_, number) => `02:5d:1c:00:00:0${number}`);
    const kept = [all[0] ?? "", all[3] ?? "", all[7] ?? ""];
    await report("node-c", ...kept);
    await eventually("the status says so", async () => {
      const { status } = await fixture.admin.get(KINDS.pools, { name: "warn" });
      return status?.hostAddresses === 3 && status.free === 5;
    });
    const answers = await Promise.allSettled(
      Array.from({ length: 12 }, (_, number) => create(`auto-${number}`, "warn")),
    );
    const given = answers.flatMap((answer) => (answer.status === "fulfilled" ? macsOf(answer.value) : []));
    expect(given.sort()).toEqual(all.filter((mac) => !kept.includes(mac)));
    const refusals = answers.flatMap((answer) => (answer.status === "rejected" ? [String(answer.reason)] : []));
    expect(refusals).toHaveLength(7);
    for (const refusal of refusals) expect(refusal).toContain("3 are used by nodes");
    await forget("node-c");
    expect(kept).toContain(macsOf(await create("later", "warn"))[0]);
  });
});
