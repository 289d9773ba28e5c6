import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { inFlight } from "../support/in-flight.ts";
import { machine } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

/** Their claims take longer than the pause between two writes of a pool's status. */
const MACHINES = 1_500;
const IN_FLIGHT = 16;

const macAt = (number: number): string =>
  `02:5d:1c:00:${[number >> 8, number & 255].map((octet) => octet.toString(16).padStart(2, "0")).join(":")}`;

describe("the adoption of VMs that are older than the pool", () => {
  let fixture: PoolFixture;
  const watched = new AbortController();
  /** Status and message of the condition, as they were written. */
  const told: string[] = [];
  let watching: Promise<unknown> = Promise.resolve();

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await inFlight(IN_FLIGHT, MACHINES, (number) =>
      fixture.admin.create(
        KINDS.virtualMachines,
        machine(`vm-${number}`, "default", [
          { name: "a", macAddress: macAt(2 * number) },
          { name: "b", macAddress: macAt(2 * number + 1) },
        ]),
      ),
    );
    const ranges = [{ start: macAt(0), end: macAt(0xffff) }];
    await fixture.admin.create(KINDS.pools, { metadata: { name: "default" }, spec: { ranges } });
    watching = watch();
    await fixture.startReplica("one");
  });
  afterAll(async () => {
    watched.abort();
    await watching;
    await fixture?.[Symbol.asyncDispose]();
  });

  async function watch(): Promise<void> {
    try {
      for await (const { object } of fixture.admin.watch(KINDS.pools, { signal: watched.signal })) {
        const condition = object.status?.conditions?.find(({ type }) => type === "Adopted");
        if (condition !== undefined) told.push(`${condition.status} ${condition.message ?? ""}`);
      }
    } catch (error) {
      if (!watched.signal.aborted) throw error;
    }
  }

  it("shows its progress in the pool's condition, in metrics and in the log", async () => {
    await eventually("all are adopted", () => told.at(-1)?.startsWith("True "));
    expect(await fixture.claims()).toHaveLength(2 * MACHINES);
    expect(told.at(-1)).toMatch(/^True 1500 objects whose addresses had no claim were adopted in \d+ s\.$/);
    expect(told[0]).toMatch(/^False \d+ of 1500 objects whose addresses had no claim are adopted\./);
    const shown = told.map((text) => Number(/^False (\d+) of/.exec(text)?.[1] ?? 0));
    expect(shown.filter((adopted) => adopted > 0 && adopted < MACHINES)).not.toEqual([]);

    const metrics = await fixture.metrics("one");
    expect(metrics).toContain('kubevirt_macpool_adoption_owners{pool="default"} 1500\n');
    expect(metrics).toContain('kubevirt_macpool_adoption_owners_done{pool="default"} 1500\n');

    const lines = readFileSync(join(fixture.controlPlane.directory, "one.log"), "utf8")
      .split("\n")
      .filter((line) => line.includes('"msg":"adopt'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines[0]).toMatchObject({ owners: MACHINES, addresses: 2 * MACHINES });
    expect(lines.at(-1)).toMatchObject({ owners: MACHINES, adopted: MACHINES, seconds: expect.any(Number) });
    for (const line of lines.slice(1, -1)) expect(line).toMatchObject({ msg: "adopting", owners: MACHINES });
  });

  it("reads no object for itself: the caches tell which addresses have no claim", async () => {
    const reads = [
      ...(await fixture.metrics("one")).matchAll(/^rest_client_requests_total\{.*method="GET".*\} (\d+)$/gm),
    ];
    expect(reads.length).toBeGreaterThan(0);
    const sum = reads.reduce((total, [, count]) => total + Number(count), 0);
    expect(sum).toBeLessThan(MACHINES / 2);
  });

  it("has nothing to do when the next leader begins", async () => {
    await fixture.stopReplica("one");
    await fixture.startReplica("two");
    await eventually("it leads", async () => (await fixture.leader()) === "two");
    await eventually("the condition says so", () => told.at(-1) === "True ");
    expect(fixture.logOf("two")).not.toContain('"msg":"adopt');
  });
});
