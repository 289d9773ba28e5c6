import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { claimName, parseMac } from "../../../src/api/mac.ts";
import type { MACClaim } from "../../../src/api/mac-claim.ts";
import { POD_WEBHOOK } from "../../../src/api/names.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import type { LifecycleStep } from "../../../src/mac-pool/claims/lifecycle.ts";
import { describeObject, type ObjectReference } from "../../../src/mac-pool/claims/owner.ts";
import { Caches } from "../../../src/mac-pool/cluster/caches.ts";
import { Adoption } from "../../../src/mac-pool/controllers/adoption.ts";
import { ClaimController } from "../../../src/mac-pool/controllers/claim-controller.ts";
import { podMacs } from "../../../src/mac-pool/objects/listed-macs.ts";
import { allocatedTo, owner } from "../claims/lifecycle-fixture.ts";
import { ListedObjects } from "../inspection/queries/listed-objects.ts";
import { machine } from "../machines.ts";
import { MemoryClaimStore } from "../memory-claim-store.ts";

const TEXT = "02:00:00:00:00:01";
const MAC = parseMac(TEXT) ?? (0 as never);

/** A leader, and what the watches tell it. No object is there when it looks, besides the pods that it knows. */
class Fixture implements AsyncDisposable {
  readonly steps: LifecycleStep[] = [];
  readonly asked: string[] = [];
  readonly #stop = new AbortController();
  readonly #store = new MemoryClaimStore();
  readonly #objects = new ListedObjects({
    namespaces: [{ metadata: { name: "default", uid: "n", labels: { [POD_WEBHOOK]: "allocate" } } }],
    macpools: [
      { metadata: { name: "default", uid: "p" }, spec: { ranges: [{ start: TEXT, end: TEXT }] } } as KubeObject,
    ],
  });
  readonly caches = new Caches({
    client: this.#objects.asKubeClient(),
    log: silentLog,
    metrics: new Registry(),
    excludedNamespaces: [],
  });
  readonly #running: Promise<unknown>;

  constructor() {
    const shared = { clock: systemClock, log: silentLog, metrics: new Registry(), caches: this.caches };
    const controller = new ClaimController({
      ...shared,
      store: this.#store,
      liveOwners: async (_mac, _claim, refs) => this.#read(refs),
      hasCome: this.caches.admissions.hasCome,
      adoption: new Adoption({ ...shared, onProgress: () => {} }),
      onStep: (step) => void this.steps.push(step),
    });
    this.#running = Promise.all([this.caches.run(this.#stop.signal), controller.run(this.#stop.signal)]);
  }

  static async create(): Promise<Fixture> {
    const fixture = new Fixture();
    await fixture.caches.whenSynced(fixture.#stop.signal);
    return fixture;
  }

  /** Returns what tells of the claim. */
  async admit(claim: MACClaim): Promise<() => Promise<void>> {
    const { resourceVersion: _, ...metadata } = claim.metadata;
    const created = await this.#store.create({ ...claim, metadata });
    return () => this.#objects.tell("ADDED", "macclaims", created, Number(created.metadata.resourceVersion));
  }

  /** Of a version after the claim's. */
  tell(type: "ADDED" | "DELETED", plural: string, object: KubeObject): Promise<void> {
    const metadata = { ...object.metadata, uid: `u-${object.metadata.name}` };
    return this.#objects.tell(type, plural, { ...object, metadata }, type === "ADDED" ? 1_000 : 1_001);
  }

  #read(refs: readonly ObjectReference[]) {
    this.asked.push(...refs.map(describeObject));
    return this.caches.pods.list().flatMap((pod) => podMacs(pod).map(({ owner }) => owner));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running.catch(() => {});
  }
}

it("lets an address rest although its object was gone before its claim was known", async () => {
  await using fixture = await Fixture.create();
  const web = machine("web", "default", [{ name: "a", macAddress: TEXT }]);
  const tellOfClaim = await fixture.admit(allocatedTo(owner()));
  await fixture.tell("ADDED", "virtualmachines", web);
  await fixture.tell("DELETED", "virtualmachines", web);
  await tellOfClaim();
  await expect
    .poll(() => fixture.steps)
    .toMatchObject([{ action: "update", claim: { status: { phase: "Quarantined" } } }]);
});

it("reads only the pod that has come, also where its claim has the prefix of its name", async () => {
  await using fixture = await Fixture.create();
  const { name: _, ...unnamed } = owner();
  const tellOfClaim = await fixture.admit(allocatedTo({ ...unnamed, kind: "Pod", generateName: "web-" }));
  await tellOfClaim();
  const networks = JSON.stringify([{ name: "net", mac: TEXT }]);
  const annotations = { "k8s.v1.cni.cncf.io/networks": networks };
  await fixture.tell("ADDED", "pods", { metadata: { name: "web-x", namespace: "default", annotations } });
  await expect.poll(() => fixture.asked).toEqual(["Pod default/web-x"]);
  const claim = fixture.caches.claims.get(claimName(MAC)) as MACClaim;
  await expect.poll(() => fixture.caches.isAwaited(claim)).toBe(false);
});
