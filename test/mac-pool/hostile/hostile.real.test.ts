import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { MAX_INTERFACES, maxPendingInNamespace } from "../../../src/mac-pool/claims/limits.ts";
import { KINDS } from "../../../src/mac-pool/objects/kinds.ts";
import { eventually } from "../../support/eventually.ts";
import { inFlight } from "../../support/in-flight.ts";
import { megabytesOf } from "../../support/process-usage.ts";
import { machine, macsOf } from "../machines.ts";
import { PoolFixture } from "../pool-fixture.ts";
import { Attacker } from "./attacker.ts";
import { ATTACKS, floodedNamespaces, forgedReview } from "./attacks.ts";

const HONEST = 20;
/** 130 MB at rest, 64 MiB of bodies, and room for a collector that is late. */
const MAX_RESIDENT_MB = 512;
const SMALL = 1_024;

describe("a replica that is attacked", () => {
  let fixture: PoolFixture;
  let pid: number;
  let created = 0;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    pid = await fixture.startReplica("one");
    for (const name of ["honest", "victim", "neighbour"]) {
      await fixture.admin.create(RESOURCES.namespaces, {
        metadata: { name, labels: { pool: name === "honest" ? "" : "small" } },
      });
    }
    const flooded = floodedNamespaces();
    await inFlight(16, flooded.length, (i) =>
      fixture.admin.create(RESOURCES.namespaces, { metadata: { name: flooded[i] } }),
    );
    await fixture.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:ff:ff" }] });
    const namespaceSelector = { matchLabels: { pool: "small" } };
    await fixture.createPool("small", {
      ranges: [{ start: "02:5d:1d:00:00:00", end: "02:5d:1d:00:03:ff" }],
      namespaceSelector,
    });
    await fixture.registerWebhooks();
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  const target = () => ({
    webhooks: Number(new URL(fixture.httpsUrl("one")).port),
    inspection: Number(new URL(fixture.inspectionUrl("one")).port),
  });

  /** Creates VMs by the API server, and gives their addresses. */
  async function honestVms(namespace: string): Promise<(string | undefined)[]> {
    const vms = await inFlight(4, HONEST, () =>
      fixture.admin.create(KINDS.virtualMachines, machine(`honest-${created++}`, namespace, [{ name: "a" }])),
    );
    return vms.flatMap(macsOf);
  }

  it.each(ATTACKS)("admits everybody else during $what", async ({ answers, run }) => {
    using attacker = new Attacker();
    const attack = run(attacker, target());
    const macs = await honestVms("honest");
    await attack;
    macs.push(...(await honestVms("honest")));
    expect(new Set(macs).size).toBe(2 * HONEST);
    expect(macs).not.toContain(undefined);
    expect(answers).toEqual(expect.arrayContaining([...attacker.answers.keys()]));
    expect(megabytesOf(pid)).toBeLessThan(MAX_RESIDENT_MB);
  });

  it("loses half of a pool to forged reviews in a namespace, and admits a neighbour in the same pool", async () => {
    using attacker = new Attacker();
    const most = maxPendingInNamespace(SMALL);
    const forge = (count: number) =>
      attacker.requests(target().webhooks, count, 1, (i) =>
        forgedReview("victim", `forged-${count}-${i}`, MAX_INTERFACES),
      );
    await forge(most / MAX_INTERFACES);
    const claimsOfVictim = async (): Promise<number> =>
      (await fixture.claims()).filter(({ status }) => status?.owners.some(({ namespace }) => namespace === "victim"))
        .length;
    expect(await claimsOfVictim()).toBe(most);
    await eventually("the replica knows them", async () =>
      (await fixture.metrics("one")).includes(`kubevirt_macpool_free{pool="small"} ${SMALL - most}\n`),
    );
    await forge(16);
    expect(await claimsOfVictim()).toBe(most);
    expect(new Set(await honestVms("neighbour")).size).toBe(HONEST);
  });

  it("is the process that it was", async () => {
    expect(megabytesOf(pid)).toBeGreaterThan(0);
    expect(await fixture.leader()).toBe("one");
  });
});
