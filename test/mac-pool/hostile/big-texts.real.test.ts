import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type KubeObject, RESOURCES } from "../../../src/kube/client/resource.ts";
import { KINDS } from "../../../src/mac-pool/objects/kinds.ts";
import { inFlight } from "../../support/in-flight.ts";
import { megabytesOf } from "../../support/process-usage.ts";
import { share } from "../../support/share.ts";
import { machine } from "../machines.ts";
import { PoolFixture } from "../pool-fixture.ts";
import { restGet } from "../rest-client.ts";
import { viewerToken } from "../viewer-token.ts";
import { Attacker } from "./attacker.ts";
import { forgedRequest, forgedReview, post } from "./attacks.ts";

/** Texts that are longer than anything that Kubernetes, KubeVirt or multus takes for a name. */

const BIG = "x".repeat(1024 * 1024);

type Request = ReturnType<typeof forgedRequest>;

/** A review that is right but for one text. */
const BIG_REVIEWS: readonly ((number: number) => string)[] = [
  (number) => vmReview(number, (request) => ({ ...request, name: `${number}${BIG}` })),
  (number) => vmReview(number, (request) => ({ ...request, namespace: `${number}${BIG}` })),
  (number) => vmReview(number, (request) => ({ ...request, uid: `${number}${BIG}` })),
  (number) => vmReview(number, (request) => ({ ...request, userInfo: { username: `${number}${BIG}` } })),
  (number) =>
    vmReview(number, (request) => ({ ...request, object: machine("m", "flooded", [{ name: `${number}${BIG}` }]) })),
  (number) =>
    vmReview(number, (request) => ({
      ...request,
      object: machine("m", "flooded", [{ name: "a", network: `${number}${BIG}` }]),
    })),
  (number) =>
    vmReview(number, (request) => ({ ...request, name: "", object: generated(`${number}${BIG}`, "flooded") })),
  (number) => updateReview(number),
  (number) => instanceReview(number),
  (number) => podReview(number, [{ name: "n", interface: `${number}${BIG}` }]),
  (number) => podReview(number, [{ name: `${number}${BIG}`, mac: "02:5d:1c:00:00:01" }]),
];

const bigReview = (number: number): string =>
  (BIG_REVIEWS[number % BIG_REVIEWS.length] as (typeof BIG_REVIEWS)[number])(number);

function vmReview(number: number, change: (request: Request) => object): string {
  const request = forgedRequest("flooded", `big-${number}`, 1);
  return post("/mutate-virtualmachines", change(request));
}

/** The update of a VM whose UID is long. */
function updateReview(number: number): string {
  const object = machine("m", "flooded", [{ name: "a" }]);
  const stored = { ...object, metadata: { ...object.metadata, uid: `${number}${BIG}` } };
  return vmReview(number, (request) => ({
    ...request,
    operation: "UPDATE",
    object: stored,
    oldObject: { metadata: stored.metadata },
  }));
}

/** An instance of a VM that it makes up, with an address. */
function instanceReview(number: number): string {
  const request = forgedRequest("flooded", `big-${number}`, 1);
  const { spec } = machine("m", "flooded", [
    { name: `${number}${BIG}`, macAddress: "02:5d:1c:00:00:02" },
  ]) as unknown as {
    spec: { template: { spec: object } };
  };
  const ownerReferences = [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "m", uid: `${number}${BIG}` }];
  const object = { metadata: { name: "m", namespace: "flooded", ownerReferences }, spec: spec.template.spec };
  return post("/mutate-virtualmachineinstances", { ...request, object });
}

function podReview(number: number, networks: readonly object[]): string {
  const annotations = { "k8s.v1.cni.cncf.io/networks": JSON.stringify(networks) };
  const object = { metadata: { name: `big-${number}`, namespace: "flooded", annotations }, spec: {} };
  return post("/mutate-pods", { ...forgedRequest("flooded", `big-${number}`, 1), object });
}

function generated(generateName: string, namespace: string): KubeObject {
  const vm = machine("m", namespace, [{ name: "a" }]);
  return { ...vm, metadata: { generateName, namespace } };
}

/** What a tenant may write by the API server; each is refused by somebody. Gives what the answers say. */
function bigVms(fixture: PoolFixture, namespace: string, count: number): Promise<string[]> {
  return inFlight(4, count, (number) => {
    const text = `${number}${BIG}`;
    const vm = number % 2 === 0 ? machine(`big-${number}`, namespace, [{ name: text }]) : generated(text, namespace);
    return fixture.admin.create(KINDS.virtualMachines, vm).then(
      () => "created",
      (error: Error) => error.message,
    );
  });
}

/** Bytes that etcd has taken from its disk: the quota counts them. */
async function etcdBytes({ controlPlane }: PoolFixture): Promise<number> {
  const answer = await fetch(`${controlPlane.etcdUrl}/v3/maintenance/status`, { method: "POST", body: "{}" });
  return Number(((await answer.json()) as { dbSize: string }).dbSize);
}

/** Of a megabyte each. `HOSTILE_REVIEWS=10000` takes an hour and a half on a busy machine. */
const REVIEWS = Number(process.env.HOSTILE_REVIEWS ?? share(110));
const TIMEOUT_MS = 120_000 + REVIEWS * 1_000;
const VMS = share(20);
const WARM_UP = share(2_000);
const MAX_GROWTH_OF_ETCD_MB = 20;
const MAX_GROWTH_OF_REPLICA_MB = 30;
const MB = 1024 * 1024;
/** Names, and the same name in a message. */
const MAX_CHARS_OF_REFUSAL = 4_096;

describe("a replica that is sent big texts", () => {
  let fixture: PoolFixture;
  let pid: number;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    pid = await fixture.startReplica("one");
    await fixture.admin.create(RESOURCES.namespaces, { metadata: { name: "flooded" } });
    await fixture.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:ff:ff" }] });
    await fixture.registerWebhooks();
    // What a replica that has never worked takes for its work is none of the texts'.
    using warmUp = new Attacker();
    await warmUp.requests(port(), WARM_UP, 4, (i) => forgedReview("nowhere", `warm-up-${i}`, 8));
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  const port = (): number => Number(new URL(fixture.httpsUrl("one")).port);

  /** What something adds, in MB. */
  async function growthBy(act: () => Promise<unknown>): Promise<{ readonly etcd: number; readonly replica: number }> {
    const before = { etcd: await etcdBytes(fixture), replica: megabytesOf(pid) };
    await act();
    const etcd = ((await etcdBytes(fixture)) - before.etcd) / MB;
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
      expect(await fixture.claims()).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it("keeps and writes nothing of VMs with names of a megabyte that a tenant writes", async () => {
    let answers: readonly string[] = [];
    const growth = await growthBy(async () => {
      answers = await bigVms(fixture, "flooded", VMS);
    });
    expect(growth.etcd).toBeLessThan(MAX_GROWTH_OF_ETCD_MB);
    expect(growth.replica).toBeLessThan(MAX_GROWTH_OF_REPLICA_MB);
    expect(await fixture.claims()).toEqual([]);
    expect(answers.filter((answer) => answer.length > 1_024)).toEqual([]);
  });

  it("says little of each in its log, and to those who ask what was refused", async () => {
    const log = await readFile(join(fixture.controlPlane.directory, "one.log"), "utf8");
    const lines = log.split("\n").filter((line) => !line.includes('"level":"debug"'));
    expect(lines.filter((line) => line.includes("flooded")).length).toBeGreaterThan(0);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(MAX_CHARS_OF_REFUSAL);
    const { body } = await restGet(fixture, "one", "/api/v1/denials", await viewerToken(fixture, "viewer", "cluster"));
    const denials = (body.items as object[]).map((denial) => JSON.stringify(denial).length);
    expect(denials.length).toBeGreaterThan(0);
    expect(denials.length).toBeLessThanOrEqual(1_000);
    expect(Math.max(...denials)).toBeLessThan(MAX_CHARS_OF_REFUSAL);
  });
});
