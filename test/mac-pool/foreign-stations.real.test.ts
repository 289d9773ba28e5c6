import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiVersionOf, NODE_MACS } from "../../src/api/kinds.ts";
import type { HostAddressPolicy } from "../../src/api/mac-pool.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { runCommand } from "../cluster/command.ts";
import { eventually } from "../support/eventually.ts";
import { machine, macsOf } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

const POLICIES = { warn: "Warn", deny: "Deny" } as const satisfies Record<string, HostAddressPolicy>;
type Namespace = keyof typeof POLICIES;
const macAt = (pool: number, offset: number): string => `02:5d:1c:0${pool}:00:0${offset}`;

describe("addresses that somebody else has beyond the uplinks, on a real API server", { timeout: 120_000 }, () => {
  let fixture: PoolFixture;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await fixture.startReplica("one");
    for (const [number, [name, hostAddressPolicy]] of Object.entries(POLICIES).entries()) {
      await fixture.admin.create(RESOURCES.namespaces, { metadata: { name, labels: { pool: name } } });
      await fixture.createPool(name, {
        ranges: [{ start: macAt(number, 0), end: macAt(number, 7) }],
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

  /** As the marker of the node does. */
  async function report(name: string, ...macs: string[]): Promise<void> {
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid: `uid-of-${name}` }];
    const lastSeen = `${new Date().toISOString().slice(0, 19)}Z`;
    const stations = macs.map((mac) => ({ mac, bridge: "br1", uplink: "eno2", lastSeen }));
    const kind = { apiVersion: apiVersionOf(NODE_MACS), kind: NODE_MACS.kind };
    const object = { ...kind, metadata: { name, ownerReferences }, addresses: [], stations };
    await fixture.admin.apply(KINDS.nodeMacs, object, { fieldManager: "bridge-marker", force: true });
  }

  const kept = (pool: Namespace, count: number): Promise<unknown> =>
    eventually(`${count} addresses of ${pool} are kept`, async () => {
      const { status } = await fixture.admin.get(KINDS.pools, { name: pool });
      return status?.hostAddresses === count;
    });

  const create = async (name: string, namespace: Namespace): Promise<string | undefined> =>
    macsOf(await fixture.admin.create(KINDS.virtualMachines, machine(name, namespace, [{ name: "net1" }])))[0];

  const apply = (name: string, namespace: Namespace, macAddress: string) => {
    const { kubectlPath, kubeconfig } = fixture.controlPlane;
    const vm = machine(name, namespace, [{ name: "net1", macAddress }]);
    return runCommand([kubectlPath, "--kubeconfig", kubeconfig, "apply", "-f", "-"], { stdin: JSON.stringify(vm) });
  };

  it("are given to no VM that asks for any, and to one that asks for them by the pool's policy", async () => {
    const [first, second] = [macAt(0, 2), macAt(0, 5)];
    await report("node-a", first, second, macAt(1, 3));
    await kept("warn", 2);
    await kept("deny", 1);
    const given = await Promise.all([0, 1, 2, 3, 4, 5].map((number) => create(`auto-${number}`, "warn")));
    expect(given.sort()).toEqual([0, 1, 3, 4, 6, 7].map((offset) => macAt(0, offset)));
    await expect(create("auto-6", "warn")).rejects.toThrow("2 are used by nodes or by stations outside the cluster");
    const warned = await apply("web", "warn", first);
    expect(warned).toMatchObject({ code: 0, stdout: "virtualmachine.kubevirt.io/web created\n" });
    expect(warned.stderr).toContain(
      `Warning: MAC ${first} of interface "net1" is also the address of a station outside the cluster, seen at uplink eno2 of node node-a.`,
    );
    await kept("warn", 1);
    const refused = await apply("web", "deny", macAt(1, 3));
    expect(refused.stderr).toContain(
      "is the address of a station outside the cluster, seen at uplink eno2 of node node-a. The two would",
    );
  });

  it("are none of our VMs, which all other nodes see: neither while they live nor after they are gone", async () => {
    const mac = macAt(1, 0);
    expect(await apply("seen", "deny", mac)).toMatchObject({ code: 0, stderr: "" });
    await report("node-b", mac);
    await report("node-c", mac, macAt(0, 5));
    await fixture.admin.delete(KINDS.virtualMachines, { name: "seen", namespace: "deny" });
    await eventually("the address is free", async () => (await fixture.claim(mac)) === undefined);
    await report("node-b", mac);
    await report("node-c", mac, macAt(0, 5), macAt(1, 4));
    await kept("deny", 2);
  });

  it("are kept by a replica that starts anew, and its own VMs are not", async () => {
    const own = (await create("own", "deny")) ?? "";
    await report("node-b", own);
    await report("node-c", own, macAt(1, 4));
    await fixture.stopReplica("one");
    await fixture.startReplica("two");
    await kept("deny", 2);
    expect(await create("other", "deny")).not.toBe(own);
  });
});
