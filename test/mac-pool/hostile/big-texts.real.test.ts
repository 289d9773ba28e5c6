import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { residentMb } from "../../bench/mac-pool-scale.ts";
import { PoolBed } from "../pool-bed.ts";
import { Attacker } from "./attacker.ts";
import { forgedReview } from "./attacks.ts";
import { bigReview, bigVms, etcdBytes } from "./big-texts.ts";

/** Of a megabyte each. `HOSTILE_REVIEWS=10000` takes an hour. */
const REVIEWS = Number(process.env.HOSTILE_REVIEWS ?? 110);
const VMS = 20;
const WARM_UP = 2_000;
const MAX_GROWTH_OF_ETCD_MB = 20;
const MAX_GROWTH_OF_REPLICA_MB = 30;
const MB = 1024 * 1024;

describe("a replica that is sent big texts", () => {
  let bed: PoolBed;
  let pid: number;

  beforeAll(async () => {
    bed = await PoolBed.start();
    pid = await bed.startReplica("one");
    await bed.admin.create(RESOURCES.namespaces, { metadata: { name: "flooded" } });
    await bed.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:ff:ff" }] });
    await bed.registerWebhooks();
    // What a replica that has never worked takes for its work is none of the texts'.
    using warmUp = new Attacker();
    await warmUp.requests(port(), WARM_UP, 4, (i) => forgedReview("nowhere", `warm-up-${i}`, 8));
  });
  afterAll(async () => {
    await bed?.[Symbol.asyncDispose]();
  });

  const port = (): number => Number(new URL(bed.httpsUrl("one")).port);

  /** What something adds, in MB. */
  async function growthBy(act: () => Promise<unknown>): Promise<{ readonly etcd: number; readonly replica: number }> {
    const before = { etcd: await etcdBytes(bed), replica: await residentMb(pid) };
    await act();
    const etcd = ((await etcdBytes(bed)) - before.etcd) / MB;
    const replica = (await residentMb(pid)) - before.replica;
    return { etcd, replica };
  }

  it("keeps and writes nothing of reviews with names of a megabyte", async () => {
    using attacker = new Attacker();
    const growth = await growthBy(() => attacker.requests(port(), REVIEWS, 4, bigReview));
    expect(growth.etcd).toBeLessThan(MAX_GROWTH_OF_ETCD_MB);
    expect(growth.replica).toBeLessThan(MAX_GROWTH_OF_REPLICA_MB);
    expect(await bed.claims()).toEqual([]);
  }, 1_800_000);

  it("keeps and writes nothing of VMs with names of a megabyte that a tenant writes", async () => {
    let answers: readonly string[] = [];
    const growth = await growthBy(async () => {
      answers = await bigVms(bed, "flooded", VMS);
    });
    expect(growth.etcd).toBeLessThan(MAX_GROWTH_OF_ETCD_MB);
    expect(growth.replica).toBeLessThan(MAX_GROWTH_OF_REPLICA_MB);
    expect(await bed.claims()).toEqual([]);
    expect(answers.filter((answer) => answer.length > 1_024)).toEqual([]);
  });
});
