/** The pool's Service in front of a replica on this machine, so that the API server's proxy leads to it. */
import { networkInterfaces } from "node:os";
import { MAC_POOL_INSPECTION_PORT_NAME, MAC_POOL_SERVICE } from "../../../src/api/names.ts";
import type { NodeMACs } from "../../../src/api/node-macs.ts";
import { defineResource, RESOURCES } from "../../../src/kube/client/resource.ts";
import { KINDS } from "../../../src/mac-pool/objects/kinds.ts";
import { nadCrd } from "../../cluster/multus/nad-crd.ts";
import { bridgeOf, nadOf, reportOf } from "../../mac-pool/inspection/networks.ts";
import { POOL_NAMESPACE, PoolFixture } from "../../mac-pool/pool-fixture.ts";
import { eventually } from "../../support/eventually.ts";
import * as rights from "../../support/rights.ts";

/** An address that is not of the loopback, which endpoints may not have. */
function ownAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((each = []) => each);
  const found = addresses.find(({ family, internal }) => family === "IPv4" && !internal);
  if (found === undefined) throw new Error("this machine has no IPv4 address besides the loopback's: give it one");
  return found.address;
}

/** One replica with a pool, which answers the API server's webhooks and proxy. */
export async function startServedPool(): Promise<PoolFixture> {
  const harness = await PoolFixture.start();
  await harness.startReplica("one");
  await harness.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:ff:ff:ff" }] });
  await harness.registerWebhooks();
  await exposeInspection(harness, "one");
  return harness;
}

/** The proxy takes only endpoints that refer to a pod with their address. */
export async function exposeInspection(harness: PoolFixture, replica: string): Promise<void> {
  const metadata = { name: MAC_POOL_SERVICE, namespace: POOL_NAMESPACE };
  const ip = ownAddress();
  const spec = { serviceAccountName: "kubemacpool-sa", containers: [{ name: "manager", image: "none" }] };
  const pod = await harness.admin.create(RESOURCES.pods, { metadata: { ...metadata, name: replica }, spec } as never);
  const status = { phase: "Running", podIP: ip, podIPs: [{ ip }] };
  await harness.admin.patch(
    RESOURCES.pods,
    { name: replica, namespace: POOL_NAMESPACE },
    { type: "merge", body: { status } },
    { subresource: "status" },
  );
  const name = MAC_POOL_INSPECTION_PORT_NAME;
  await harness.admin.create(RESOURCES.services, { metadata, spec: { ports: [{ name, port: 8443 }] } } as never);
  const port = Number(new URL(harness.inspectionUrl(replica)).port);
  const targetRef = { kind: "Pod", name: replica, namespace: POOL_NAMESPACE, uid: pod.metadata.uid };
  const subsets = [{ addresses: [{ ip, targetRef }], ports: [{ name, port }] }];
  await harness.admin.create(defineResource("v1", "Endpoints", "endpoints", true), { metadata, subsets } as never);
}

/** What docs/reference/kubectl-macpool.md grants to users of one namespace, for an account in namespace default. */
export async function letUseProxy(harness: PoolFixture, account: string): Promise<void> {
  const resourceNames = [`https:${MAC_POOL_SERVICE}:${MAC_POOL_INSPECTION_PORT_NAME}`];
  const rules = [{ apiGroups: [""], resources: ["services/proxy"], verbs: ["get"], resourceNames }];
  await rights.grantRules(harness.admin, rights.account(account), rules, { namespace: POOL_NAMESPACE });
}

/** Network default/blue with VLAN 100 on br1, which node-b has. */
export async function createNetwork({ admin }: PoolFixture): Promise<void> {
  await admin.create(RESOURCES.crds, nadCrd as never);
  await eventually("the API server serves networks", () =>
    admin.create(KINDS.networks, nadOf("default", "blue", { config: { vlan: 100 } })),
  );
  await admin.create(KINDS.nodeMacs, reportOf("node-b", [bridgeOf("br1")]) as unknown as NodeMACs);
}
