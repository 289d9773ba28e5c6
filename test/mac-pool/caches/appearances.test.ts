import { describe, expect, it } from "vitest";
import { parseMac } from "../../../src/api/mac.ts";
import type { MACClaim } from "../../../src/api/mac-claim.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import type { Handler } from "../../../src/kube/informer/handler-set.ts";
import { Appearances } from "../../../src/mac-pool/caches/appearances.ts";
import { newClaim } from "../../../src/mac-pool/core/claim.ts";
import { owner } from "../core/lifecycle-bed.ts";
import { machine } from "../machines.ts";

const TEXT = "02:00:00:00:00:01";
const MAC = parseMac(TEXT) ?? (0 as never);

/** An informer that the test tells what to tell. */
class Told<T extends KubeObject> {
  readonly objects = new Map<string, T>();
  readonly #handlers: Handler<T>[] = [];

  on(handler: Handler<T>): () => void {
    this.#handlers.push(handler);
    return () => {};
  }

  get = (name: string): T | undefined => this.objects.get(name);
  list = (): readonly T[] => [...this.objects.values()];

  set(object: T, created = true): T {
    const { name = "" } = object.metadata;
    const old = this.objects.get(name);
    this.objects.set(name, object);
    for (const handler of this.#handlers) {
      if (old === undefined) handler.add?.(object, { created });
      else handler.update?.(object, old);
    }
    return object;
  }

  listed(): void {
    for (const handler of this.#handlers) handler.listed?.();
  }
}

function bed() {
  const claims = new Told<MACClaim>();
  const [machines, instances, pods] = [new Told<KubeObject>(), new Told<KubeObject>(), new Told<KubeObject>()];
  const informers = { claims, machines, instances, pods } as unknown as ConstructorParameters<typeof Appearances>[0];
  const appearances = new Appearances(informers);
  return { claims, machines, pods, isLeak: (claim: MACClaim) => appearances.isLeak(claim) };
}

const pending = (kind: "Pod" | "VirtualMachine", name: string): MACClaim =>
  newClaim(MAC, { pool: "default", origin: "automatic" }, { phase: "Pending", owners: [owner({ kind, name })] });

const pod = (name: string): KubeObject => ({
  metadata: {
    name,
    namespace: "default",
    uid: `u-${name}`,
    annotations: { "k8s.v1.cni.cncf.io/networks": JSON.stringify([{ name: "net1", mac: TEXT }]) },
  },
});

describe("a claim that ends while it waits for its object", () => {
  it("is a leak if no such object was seen", () => {
    const { claims, pods, isLeak } = bed();
    const claim = claims.set(pending("Pod", "web"));
    pods.set(pod("another"));
    expect(isLeak(claim)).toBe(true);
  });

  it("is none if a pod or a VM was seen that may have been it, also once the claim has changed", () => {
    const { claims, pods, isLeak } = bed();
    claims.set(pending("Pod", "web"));
    pods.set(pod("web"));
    expect(isLeak(claims.set(pending("Pod", "web")))).toBe(false);

    const second = bed();
    const claim = second.claims.set(pending("VirtualMachine", "web"));
    second.machines.set(machine("web", "default", [{ name: "a", macAddress: TEXT }]));
    expect(second.isLeak(claim)).toBe(false);
  });

  it("is none where the object may have come and gone before the claim or the objects were listed", () => {
    const { claims, isLeak } = bed();
    expect(isLeak(claims.set(pending("Pod", "web"), false))).toBe(false);

    const relisted = bed();
    const claim = relisted.claims.set(pending("Pod", "web"));
    expect(relisted.isLeak(claim)).toBe(true);
    relisted.pods.listed();
    expect(relisted.isLeak(claim)).toBe(false);
  });
});
