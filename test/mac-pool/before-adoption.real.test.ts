import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLAIM_BREAK_GLASS } from "../../src/api/mac-claim.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import { LeaderElector } from "../../src/kube/leader/leader-election.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { LEASE_NAME } from "../../src/mac-pool/replica.ts";
import { inFlight } from "../support/in-flight.ts";
import { machine, macsOf } from "./machines.ts";
import { POOL_NAMESPACE, PoolFixture } from "./pool-fixture.ts";

const LISTED = 200;
const RANGE = 256;
const IN_FLIGHT = 16;
const FIRST = "02:5d:1c:00:00:00";

const macAt = (number: number): string => `02:5d:1c:00:00:${number.toString(16).padStart(2, "0")}`;

/**
 * A pool that serves before anybody has adopted what is there: another holds the lease, so no replica adopts anything,
 * and whatever happens here happens in the time between the start of a replica and the adoption.
 */
describe("a pool that is switched on over VMs that exist", () => {
  let fixture: PoolFixture;
  let elsewhere: Promise<unknown> = Promise.resolve();
  const stop = new AbortController();

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    elsewhere = new LeaderElector({
      client: fixture.admin,
      namespace: POOL_NAMESPACE,
      name: LEASE_NAME,
      identity: "elsewhere",
    }).run(stop.signal, (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())));
    await inFlight(IN_FLIGHT, LISTED, (number) =>
      create(machine(`old-${number}`, "default", [{ name: "a", macAddress: macAt(number) }])),
    );
    const ranges = [{ start: FIRST, end: macAt(RANGE - 1) }];
    await fixture.admin.create(KINDS.pools, { metadata: { name: "default" }, spec: { ranges } });
    await fixture.startReplica("one");
    await fixture.everyReplicaKnows("default", RANGE);
    await fixture.registerWebhooks();
  });
  afterAll(async () => {
    stop.abort();
    await elsewhere;
    await fixture?.[Symbol.asyncDispose]();
  });

  const create = (vm: KubeObject): Promise<KubeObject> => fixture.admin.create(KINDS.virtualMachines, vm);
  const refusalOf = (vm: KubeObject): Promise<string> =>
    create(vm).then(
      () => "created",
      (error: Error) => error.message,
    );

  async function duplicates(): Promise<string[]> {
    const all = (await fixture.admin.list(KINDS.virtualMachines)).items.flatMap(macsOf);
    return all.filter((mac, index) => all.indexOf(mac) !== index).map(String);
  }

  async function expectNothingToBeAdmitted(): Promise<void> {
    expect(await refusalOf(machine("more", "default", [{ name: "a" }]))).toContain("the range is full");
    expect(await refusalOf(machine("thief", "default", [{ name: "a", macAddress: macAt(7) }]))).toContain(
      `MAC ${macAt(7)} of interface "a" is in use by VirtualMachine default/old-7 (a).`,
    );
    expect(await duplicates()).toEqual([]);
  }

  it("gives out none of the addresses that they list, and admits nobody to one", async () => {
    const made = await inFlight(IN_FLIGHT, RANGE - LISTED, (number) =>
      create(machine(`new-${number}`, "default", [{ name: "a" }])),
    );
    expect(new Set(made.flatMap(macsOf)).size).toBe(RANGE - LISTED);
    expect(await fixture.claims()).toHaveLength(RANGE - LISTED);
    await expectNothingToBeAdmitted();
  });

  it("gives out none of them either after all claims were deleted", async () => {
    await fixture.startReplica("two");
    const breakGlass = { metadata: { annotations: { [CLAIM_BREAK_GLASS]: "true" } } };
    for (const { metadata } of await fixture.claims()) {
      const ref = { name: metadata.name ?? "" };
      await fixture.admin.patch(KINDS.claims, ref, { type: "merge", body: breakGlass });
      await fixture.admin.delete(KINDS.claims, ref);
    }
    await expectNothingToBeAdmitted();
    expect(await fixture.claims()).toEqual([]);
  });
});
