import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { megabytesOf } from "../../support/process-usage.ts";
import { PoolBed } from "../pool-bed.ts";
import { restGet } from "../rest-client.ts";
import { viewerToken } from "../viewer-token.ts";
import { Attacker } from "./attacker.ts";
import { forgedReview } from "./attacks.ts";
import { bigReview, bigVms, etcdBytes } from "./big-texts.ts";

/** Of a megabyte each. `HOSTILE_REVIEWS=10000` takes an hour and a half on a busy machine. */
const REVIEWS = Number(process.env.HOSTILE_REVIEWS ?? 110);
const TIMEOUT_MS = 120_000 + REVIEWS * 1_000;
const VMS = 20;
const WARM_UP = 2_000;
const MAX_GROWTH_OF_ETCD_MB = 20;
const MAX_GROWTH_OF_REPLICA_MB = 30;
const MB = 1024 * 1024;
/** Names, and the same name in a message. */
const MAX_CHARS_OF_REFUSAL = 4_096;

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
    const before = { etcd: await etcdBytes(bed), replica: megabytesOf(pid) };
    await act();
    const etcd = ((await etcdBytes(bed)) - before.etcd) / MB;
    const replica = megabytesOf(pid) - before.replica;
    return { etcd, replica };
  }

  it(
    "keeps and writes nothing of reviews with names of a megabyte",
    async () => {
      using attacker = new Attacker();
      const growth = await growthBy(() => attacker.requests(port(), REVIEWS, 4, bigReview));
      expect(growth.etcd).toBeLessThan(MAX_GROWTH_OF_ETCD_MB);
      expect(growth.replica).toBeLessThan(MAX_GROWTH_OF_REPLICA_MB);
      expect(await bed.claims()).toEqual([]);
    },
    TIMEOUT_MS,
  );

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

  it("says little of each in its log, and to those who ask what was refused", async () => {
    const log = await readFile(join(bed.controlPlane.directory, "one.log"), "utf8");
    const lines = log.split("\n").filter((line) => !line.includes('"level":"debug"'));
    expect(lines.filter((line) => line.includes("flooded")).length).toBeGreaterThan(0);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(MAX_CHARS_OF_REFUSAL);
    const { body } = await restGet(bed, "one", "/api/v1/denials", await viewerToken(bed, "viewer", "cluster"));
    const denials = (body.items as object[]).map((denial) => JSON.stringify(denial).length);
    expect(denials.length).toBeGreaterThan(0);
    expect(denials.length).toBeLessThanOrEqual(1_000);
    expect(Math.max(...denials)).toBeLessThan(MAX_CHARS_OF_REFUSAL);
  });
});
