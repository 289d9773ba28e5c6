import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { inFlight } from "../support/in-flight.ts";
import { share } from "../support/share.ts";
import { machine, macsOf } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

/** `POOL_BURST=3000`: as many VMs as a large tenant creates at once. */
const BURST = Number(process.env.POOL_BURST ?? share(200));
const IN_FLIGHT = 64;

describe("what a namespace may have", () => {
  let fixture: PoolFixture;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await Promise.all([fixture.startReplica("one"), fixture.startReplica("two")]);
    await fixture.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:3f:ff" }] });
    await fixture.admin.create(RESOURCES.namespaces, { metadata: { name: "limited", labels: { pool: "limited" } } });
    await fixture.createPool("limited", {
      ranges: [{ start: "02:5d:1e:00:00:00", end: "02:5d:1e:00:ff:ff" }],
      namespaceSelector: { matchLabels: { pool: "limited" } },
      maxAddressesPerNamespace: 10,
    });
    await fixture.registerWebhooks();
  });
  afterAll(() => fixture?.[Symbol.asyncDispose]());

  it("never refuses an honest burst", { timeout: 600_000 }, async () => {
    const nics = [{ name: "a" }, { name: "b" }];
    const created = await inFlight(IN_FLIGHT, BURST, (index) =>
      fixture.admin.create(KINDS.virtualMachines, machine(`burst-${index}`, "default", nics)),
    );
    expect(new Set(created.flatMap(macsOf)).size).toBe(2 * BURST);
  });

  it("has no more addresses than its pool allows, but for what two replicas give at one moment", async () => {
    const create = (name: string, dryRun = false) =>
      fixture.admin.create(KINDS.virtualMachines, machine(name, "limited", [{ name: "a" }]), { dryRun });
    const results = await inFlight(4, 30, (index) =>
      create(`limited-${index}`).then(
        () => "created",
        (error: Error) => error.message,
      ),
    );
    const created = results.filter((result) => result === "created").length;
    expect(created).toBeGreaterThanOrEqual(10);
    expect(created).toBeLessThanOrEqual(2 * 10);
    await eventually("either replica knows what the other has given", async () => {
      const refusal = await create("one-more", true).catch((error: Error) => error.message);
      return /namespace limited has \d\d MAC addresses and asks for 1 more/.test(String(refusal));
    });
  });
});
