import { describe, expect, it } from "vitest";
import { claimName, type Mac, parseMac } from "../../../src/api/mac.ts";
import type { MACClaim } from "../../../src/api/mac-claim.ts";
import type { NodeMACs } from "../../../src/api/node-macs.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { IndexFeed } from "../../../src/mac-pool/cluster/index-feed.ts";
import type { Informers } from "../../../src/mac-pool/cluster/informers.ts";
import { Segments } from "../../../src/mac-pool/pools/segments.ts";
import { allocatedTo, claim, owner } from "../claims/lifecycle-fixture.ts";
import { machine } from "../machines.ts";
import { FakeInformer } from "./fake-informer.ts";

const TEXT = "02:00:00:00:00:01";
const MAC = parseMac(TEXT) ?? (0 as never);
const WEB = machine("web", "default", [{ name: "a", macAddress: TEXT }]);

function fixture() {
  const [machines, instances, pods] = [new FakeInformer(), new FakeInformer(), new FakeInformer()];
  const claims = new FakeInformer<MACClaim>();
  const informers = {
    claims,
    machines,
    instances,
    pods,
    pools: new FakeInformer(),
    nodeMacs: new FakeInformer<KubeObject & NodeMACs>(),
  };
  const isListed = (): boolean => machines.list().length > 0;
  const feed = new IndexFeed(informers as unknown as Informers, systemClock, isListed);
  const { index } = feed;
  const phase = (): string => (index.pending.has(MAC) ? "pending" : "bound");
  return { ...informers, feed, index, phase };
}

const next = (made: MACClaim): MACClaim => ({ ...made, metadata: { ...made.metadata, generation: 2 } });
const gone = (informer: FakeInformer): void => informer.delete("web");
const quarantined = claim({ phase: "Quarantined", owners: [] });
const renewed = allocatedTo(owner({ since: "2026-01-01T00:00:00.000Z" }));

describe("a claim", () => {
  it("is pending until an object lists its address, and not again when that object is gone", () => {
    const { claims, machines, phase } = fixture();
    claims.set(allocatedTo(owner()));
    expect(phase()).toBe("pending");
    machines.set(WEB);
    expect(phase()).toBe("bound");
    gone(machines);
    expect(phase()).toBe("bound");
  });

  it("is not pending where its object was faster than its own event, nor while it rests", () => {
    const { claims, machines, phase } = fixture();
    machines.set(WEB);
    claims.set(allocatedTo(owner()));
    expect(phase()).toBe("bound");
    const other = fixture();
    other.claims.set(allocatedTo(owner()));
    other.claims.set(quarantined);
    expect(other.phase()).toBe("bound");
  });

  it("is looked for among the objects once all of them are listed, where it was listed itself", () => {
    for (const isThere of [true, false]) {
      const { claims, machines, feed, phase } = fixture();
      machines.hasSynced = false;
      claims.set(allocatedTo(owner()), false);
      expect(phase()).toBe("bound");
      if (isThere) machines.set(WEB, false);
      machines.hasSynced = true;
      feed.findPending();
      expect(phase()).toBe(isThere ? "bound" : "pending");
    }
  });

  it("is pending again when somebody is admitted and nobody lists the address, and not when it is written for another reason", () => {
    const { claims, machines, phase } = fixture();
    claims.set(allocatedTo(owner()));
    machines.set(WEB);
    gone(machines);
    claims.set(next(allocatedTo(owner({ interface: "b" }))));
    expect(phase()).toBe("bound");
    claims.set(renewed);
    expect(phase()).toBe("pending");
  });
});

describe("an address that nobody ever had", () => {
  it("is known as such where its claim was watched from its creation on, and no object was seen", () => {
    const { claims, index } = fixture();
    claims.set(allocatedTo(owner()));
    claims.set(renewed);
    expect(index.pending.wasNeverListed(MAC)).toBe(true);
  });

  it("is not where an object was seen, or may have come and gone before anything was listed anew", () => {
    const seen = fixture();
    seen.claims.set(allocatedTo(owner()));
    seen.machines.set(WEB);
    gone(seen.machines);
    seen.claims.set(renewed);
    expect(seen.index.pending.wasNeverListed(MAC)).toBe(false);

    const listed = fixture();
    listed.claims.set(allocatedTo(owner()), false);
    expect(listed.index.pending.wasNeverListed(MAC)).toBe(false);

    for (const kind of ["claims", "machines", "instances", "pods"] as const) {
      const relisted = fixture();
      relisted.claims.set(allocatedTo(owner()));
      relisted[kind].listed();
      expect([kind, relisted.index.pending.wasNeverListed(MAC)]).toEqual([kind, false]);
    }
  });

  it("is forgotten with its claim", () => {
    const { claims, index } = fixture();
    claims.set(allocatedTo(owner()));
    claims.delete(claimName(MAC));
    expect(index.pending.has(MAC)).toBe(false);
  });
});

it("counts pods and instances as objects too", () => {
  const networks = JSON.stringify([{ name: "net1", mac: TEXT }]);
  const pod: KubeObject = {
    metadata: { name: "web", namespace: "default", annotations: { "k8s.v1.cni.cncf.io/networks": networks } },
  };
  const { claims, pods, phase } = fixture();
  claims.set(allocatedTo(owner({ kind: "Pod" })));
  pods.set(pod);
  expect(phase()).toBe("bound");
});

describe("a station that a node sees beyond its uplinks", () => {
  const metadata = { name: "node-a", ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "node-a", uid: "u" }] };
  const seen = (): KubeObject & NodeMACs => ({
    metadata,
    addresses: [],
    stations: [{ mac: TEXT, bridge: "br1", uplink: "eno2", lastSeen: new Date().toISOString() }],
  });
  const withPool = () => {
    const made = fixture();
    const segments = new Segments([{ start: MAC, end: (MAC + 7) as Mac }]);
    const nothing = { namespaceSelector: undefined, quarantineMs: 0, pendingMs: 0, createdAtMs: 0 };
    made.index.setPool({ name: "default", segments, conflictPolicy: "Deny", ...nothing });
    return made;
  };

  it("counts once all objects are listed, unless one of them lists the address", () => {
    for (const isOurs of [true, false]) {
      const { feed, index, machines, nodeMacs } = withPool();
      nodeMacs.set(seen());
      expect(index.hosts.has(MAC)).toBe(false);
      if (isOurs) machines.set(WEB);
      feed.findPending();
      expect(index.hosts.has(MAC)).toBe(!isOurs);
    }
  });

  it("is one of ours as soon as an object comes that lists the address, and while bridges remember one that is gone", () => {
    const { feed, index, machines, nodeMacs } = withPool();
    feed.findPending();
    nodeMacs.set(seen());
    expect(index.hosts.has(MAC)).toBe(true);
    machines.set(WEB);
    expect(index.hosts.has(MAC)).toBe(false);
    machines.delete("web");
    nodeMacs.set(seen());
    expect(index.hosts.has(MAC)).toBe(false);
  });

  it("counts again when an object is gone that got the address while it was seen", () => {
    const { feed, index, machines, claims, nodeMacs } = withPool();
    const creationTimestamp = new Date(Date.now() + 60_000).toISOString();
    feed.findPending();
    nodeMacs.set(seen());
    const made = allocatedTo(owner());
    claims.set({ ...made, metadata: { ...made.metadata, creationTimestamp } });
    machines.set({ ...WEB, metadata: { ...WEB.metadata, creationTimestamp } });
    expect(index.hosts.has(MAC)).toBe(false);
    claims.delete(claimName(MAC));
    expect(index.hosts.has(MAC)).toBe(false);
    machines.delete("web");
    expect(index.hosts.has(MAC)).toBe(true);
  });

  it("does not count after its claim is gone, while bridges remember it", () => {
    const { feed, index, claims, nodeMacs } = withPool();
    feed.findPending();
    claims.set(allocatedTo(owner()));
    claims.delete(claimName(MAC));
    nodeMacs.set(seen());
    expect(index.hosts.has(MAC)).toBe(false);
  });

  it("stays when the report goes", () => {
    const { feed, index, nodeMacs } = withPool();
    feed.findPending();
    nodeMacs.set(seen());
    nodeMacs.delete("node-a");
    expect(index.hosts.has(MAC)).toBe(true);
  });
});
