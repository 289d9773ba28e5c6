import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { addressesIn } from "../../../src/api/host-interfaces.ts";
import { claimName, formatMac, type Mac, parseMac } from "../../../src/api/mac.ts";
import type { ClaimOwner, MACClaim } from "../../../src/api/mac-claim.ts";
import type { HostAddressPolicy } from "../../../src/api/mac-pool.ts";
import type { NodeMACs } from "../../../src/api/node-macs.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import type { EventRecorder, Regarding } from "../../../src/kube/events/event-recorder.ts";
import type { Handler } from "../../../src/kube/informer/informer.ts";
import { allocated, newClaim } from "../../../src/mac-pool/claims/claim.ts";
import type { Caches } from "../../../src/mac-pool/cluster/caches.ts";
import { HOST_CONFLICT_EVENT, HostConflicts } from "../../../src/mac-pool/controllers/host-conflicts.ts";
import { PoolIndex } from "../../../src/mac-pool/pools/pool-index.ts";
import { Segments } from "../../../src/mac-pool/pools/segments.ts";
import { owner } from "../claims/lifecycle-fixture.ts";
import { machine } from "../machines.ts";

const MAC = parseMac("52:54:00:00:00:01") as Mac;
const OTHER = parseMac("52:54:00:00:00:02") as Mac;

/** Caches that are told by hand, in the order of the real ones: the index first. */
class Fixture {
  readonly index = new PoolIndex();
  readonly told: string[] = [];
  readonly #claims = new Map<string, MACClaim>();
  readonly #seen = new Map<Mac, readonly ClaimOwner[]>();
  #onClaim: Handler<MACClaim> = {};
  #onMachine: Handler<KubeObject> = {};
  #onReport: Handler<NodeMACs> = {};
  #report: NodeMACs | undefined;
  readonly #onPolicy: (() => void)[] = [];
  readonly #policies = {
    hasSynced: true,
    on: ({ add, update }: Handler<KubeObject>) =>
      this.#followed(() =>
        this.#onPolicy.push(() => {
          const [old, now] = [
            { metadata: { generation: 1, labels: {} } },
            { metadata: { generation: 2, labels: { a: "b" } } },
          ];
          add?.(old, { created: true });
          update?.(now, old);
        }),
      ),
  };

  run(signal: AbortSignal): Promise<void> {
    const caches = {
      index: this.index,
      claims: {
        on: (handler: Handler<MACClaim>) => this.#followed(() => (this.#onClaim = handler)),
        get: (name: string) => this.#claims.get(name),
      },
      nodeMacs: { on: (handler: Handler<NodeMACs>) => this.#followed(() => (this.#onReport = handler)) },
      machines: { on: (handler: Handler<KubeObject>) => this.#followed(() => (this.#onMachine = handler)) },
      instances: { on: () => this.#followed(() => {}) },
      pods: { on: () => this.#followed(() => {}) },
      pools: this.#policies,
      namespaces: this.#policies,
      hasSynced: true,
      labelsOf: () => ({}),
      observedOwners: (mac: Mac) => (this.#seen.get(mac) ?? []).map((seen) => ({ ...seen, countsAsOwner: true })),
      whenSynced: async () => {},
    } as unknown as Caches;
    const event = ({ metadata }: Regarding, type: string, reason: string, message: string): void => {
      this.told.push(`${type} ${reason} ${metadata.name}: ${message}`);
    };
    return new HostConflicts({ caches, events: { event } as unknown as EventRecorder }).run(signal);
  }

  setPolicy(hostAddressPolicy: HostAddressPolicy): void {
    const nothing = { namespaceSelector: undefined, quarantineMs: 0, pendingMs: 0, createdAtMs: 0 };
    const segments = new Segments([]);
    this.index.setPool({ name: "default", segments, conflictPolicy: "Deny", hostAddressPolicy, ...nothing });
    this.relabel();
  }

  /** Pools and namespaces change. */
  relabel(): void {
    for (const changed of this.#onPolicy) changed();
  }

  report(...macs: string[]): void {
    const metadata = {
      name: "node-a",
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "node-a", uid: "u" }],
    };
    const [old, report] = [this.#report, { metadata, addresses: macs.map((mac) => ({ mac, interface: "eno1" })) }];
    this.#report = report;
    this.index.setNode("node-a", addressesIn(report));
    if (old === undefined) this.#onReport.add?.(report, { created: true });
    else this.#onReport.update?.(report, old);
  }

  /** Those that come are seen before the claim. */
  claim(mac: Mac, ...owners: ClaimOwner[]): void {
    this.#seen.set(mac, owners);
    this.#claimed(mac, owners);
  }

  await(mac: Mac, ...owners: ClaimOwner[]): void {
    this.#claimed(mac, owners);
  }

  come(mac: Mac, ...owners: ClaimOwner[]): void {
    this.#seen.set(mac, owners);
    for (const { name = "", namespace } of owners)
      this.#onMachine.add?.(machine(name, namespace, [{ name: "a", macAddress: formatMac(mac) }]), { created: true });
  }

  #claimed(mac: Mac, owners: readonly ClaimOwner[]): void {
    const claim = newClaim(mac, { pool: undefined, origin: "explicit" }, allocated(owners));
    const old = this.#claims.get(claimName(mac));
    this.#claims.set(claimName(mac), claim);
    if (old === undefined) this.#onClaim.add?.(claim, { created: true });
    else this.#onClaim.update?.(claim, old);
  }

  #followed(follow: () => unknown): () => void {
    follow();
    return () => {};
  }
}

describe("an object that has the address of a node", () => {
  let fixture: Fixture;
  let stop: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    fixture = new Fixture();
    stop = new AbortController();
    running = fixture.run(stop.signal);
  });
  afterEach(async () => {
    stop.abort();
    await running;
  });

  it("is told when a pool or the labels of a namespace let it be told, and again after they did not", () => {
    fixture.setPolicy("Off");
    fixture.claim(MAC, owner());
    fixture.report("52:54:00:00:00:01");
    expect(fixture.told).toEqual([]);
    fixture.setPolicy("Warn");
    expect(fixture.told).toHaveLength(1);
    fixture.setPolicy("Off");
    fixture.setPolicy("Deny");
    fixture.setPolicy("Deny");
    expect(fixture.told).toHaveLength(2);
    fixture.relabel();
    expect(fixture.told).toHaveLength(2);
  });

  it("is told once, whether the node or the object comes first", () => {
    fixture.claim(MAC, owner());
    expect(fixture.told).toEqual([]);
    fixture.report("52:54:00:00:00:01", "52:54:00:00:00:02");
    fixture.claim(OTHER, owner({ name: "late" }));
    fixture.claim(MAC, owner());
    fixture.report("52:54:00:00:00:01", "52:54:00:00:00:02");
    const text = (mac: string): string =>
      `MAC ${mac} of interface "a" is also the address of interface eno1 of node node-a. Nothing was taken away. ` +
      "They disturb each other on the same network: give one of them another address.";
    expect(fixture.told).toEqual([
      `Warning ${HOST_CONFLICT_EVENT} web: ${text("52:54:00:00:00:01")}`,
      `Warning ${HOST_CONFLICT_EVENT} late: ${text("52:54:00:00:00:02")}`,
    ]);
  });

  it("is told again when it was over in between, and of each further holder", () => {
    fixture.claim(MAC, owner());
    fixture.report("52:54:00:00:00:01");
    fixture.report();
    fixture.report("52:54:00:00:00:01");
    expect(fixture.told).toHaveLength(2);
    fixture.claim(MAC, owner(), owner({ name: "second" }));
    expect(fixture.told).toHaveLength(4);
  });

  it("is told when it exists, by its name where the claim has a prefix, and not before", () => {
    const { name: _, ...unnamed } = owner();
    fixture.report("52:54:00:00:00:01");
    fixture.await(MAC, { ...unnamed, generateName: "web-" });
    expect(fixture.told).toEqual([]);
    fixture.come(MAC, owner({ name: "web-x" }));
    expect(fixture.told).toEqual([expect.stringContaining(`${HOST_CONFLICT_EVENT} web-x: MAC 52:54:00:00:00:01`)]);
  });

  it("is told of the second owner that the policy lets in, once it exists", () => {
    const [first, second] = [owner(), owner({ name: "second" })];
    fixture.report("52:54:00:00:00:01");
    fixture.claim(MAC, first);
    fixture.await(MAC, first, second);
    expect(fixture.told).toHaveLength(1);
    fixture.come(MAC, first, second);
    expect(fixture.told.at(-1)).toContain(`${HOST_CONFLICT_EVENT} second: MAC 52:54:00:00:00:01`);
  });

  it("is not told of whoever lists the address and is no owner, nor where the policy is off", () => {
    fixture.report("52:54:00:00:00:01");
    fixture.await(MAC, owner());
    fixture.come(MAC, owner({ name: "other" }));
    fixture.setPolicy("Off");
    fixture.claim(MAC, owner());
    expect(fixture.told).toEqual([]);
  });
});
