import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { inFlight } from "./in-flight.ts";
import { machine, macsOf } from "./machines.ts";
import { PoolBed } from "./pool-bed.ts";

/** `POOL_BURST=3000`: as many VMs as a large tenant creates at once. */
const BURST = Number(process.env.POOL_BURST ?? 200);
const IN_FLIGHT = 64;

describe("what a namespace may have", () => {
  let bed: PoolBed;

  beforeAll(async () => {
    bed = await PoolBed.start();
    await Promise.all([bed.startReplica("one"), bed.startReplica("two")]);
    await bed.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:3f:ff" }] });
    await bed.registerWebhooks();
  });
  afterAll(() => bed?.[Symbol.asyncDispose]());

  it("never refuses an honest burst", { timeout: 600_000 }, async () => {
    const nics = [{ name: "a" }, { name: "b" }];
    const created = await inFlight(IN_FLIGHT, BURST, (index) =>
      bed.admin.create(KINDS.virtualMachines, machine(`burst-${index}`, "default", nics)),
    );
    expect(new Set(created.flatMap(macsOf)).size).toBe(2 * BURST);
  });
});
