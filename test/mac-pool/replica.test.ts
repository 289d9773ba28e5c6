import { Registry } from "prom-client";
import { expect, it } from "vitest";
import type { Mac } from "../../src/api/mac.ts";
import { ApiError } from "../../src/kube/client/api-error.ts";
import type { KubeEvent } from "../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import type { KubeObject, Resource } from "../../src/kube/client/resource.ts";
import { silentLog } from "../../src/kube/log.ts";
import { Replica } from "../../src/mac-pool/replica.ts";
import { claimOf, instanceOf, owner, vmOf } from "./inspection/inspection-fixture.ts";
import { ListedObjects } from "./inspection/queries/listed-objects.ts";

const SHARED = 0x02_5d_1c_00_00_05 as Mac;

/** Takes every write, and notes the reasons of the events, and whom they are about. */
function noting(
  informed: KubeClient,
  objects: readonly KubeObject[],
  reasons: Set<string>,
  uids: string[],
): KubeClient {
  const written = async (_: Resource, object: KubeObject): Promise<KubeObject> => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion: "1" },
  });
  const create = (resource: Resource, object: KubeObject & Partial<KubeEvent>): Promise<KubeObject> => {
    if (resource.plural === "events") reasons.add(object.reason ?? "");
    if (object.reason === "MACShared") uids.push(object.regarding?.uid ?? "");
    return written(resource, object);
  };
  const get = async (resource: Resource, { name }: { readonly name: string }): Promise<KubeObject> => {
    const found = objects.find(({ kind, metadata }) => kind === resource.kind && metadata.name === name);
    if (found === undefined) throw new ApiError({ status: 404, reason: "NotFound", message: name });
    return found;
  };
  return { ...informed, create, get, update: written, patch: async () => ({ metadata: {} }) } as unknown as KubeClient;
}

it("writes the events of the leader without the client that admission waits for", async () => {
  const machines = ["web", "twin"].map((name) => ({ ...vmOf("default", name, [SHARED]), kind: "VirtualMachine" }));
  const { uid: _, ...admitted } = owner("default", "web");
  const range = { start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" };
  const cluster = new ListedObjects({
    macpools: [
      { metadata: { name: "default", uid: "p1" }, spec: { ranges: [range] } },
      { metadata: { name: "broken", uid: "p2" }, spec: { ranges: [{ start: "x", end: "y" }] } },
    ] as KubeObject[],
    macclaims: [claimOf(SHARED, [admitted])],
    namespaces: [{ metadata: { name: "default", uid: "n" } }],
    virtualmachines: machines,
    virtualmachineinstances: machines.map((machine) => instanceOf(machine, "node-a")),
  }).asKubeClient();
  const [ofAdmission, ofLeader] = [new Set<string>(), new Set<string>()];
  const shared: string[] = [];
  const stop = new AbortController();
  const replica = new Replica({
    client: noting(cluster, machines, ofAdmission, []),
    leaderClient: noting(cluster, machines, ofLeader, shared),
    identity: "one",
    namespace: "pool",
    tls: { current: () => undefined, onChange: () => () => {} },
    listen: () => ({ port: 0, ready: false, listen: async () => {}, drain: async () => {} }),
    log: silentLog,
    metrics: new Registry(),
    settleMs: 0,
  });
  const running = replica.run(stop.signal);
  const reasons = ["InvalidRange", "MACCollision", "MACShared", "RangeFull"];
  await expect.poll(() => [...ofLeader].sort(), { timeout: 20_000 }).toEqual(reasons);
  expect(shared.sort()).toEqual(["uid-default-twin", "uid-default-web"]);
  stop.abort();
  await running;
  expect([...ofAdmission]).toEqual([]);
});
