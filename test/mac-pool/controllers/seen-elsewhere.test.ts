import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Mac, parseMac } from "../../../src/api/mac.ts";
import type { NodeMACs } from "../../../src/api/node-macs.ts";
import { flappingMacs } from "../../../src/api/seen-elsewhere.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import type { EventRecorder, Regarding } from "../../../src/kube/events/event-recorder.ts";
import type { Handler } from "../../../src/kube/informer/informer.ts";
import type { Caches } from "../../../src/mac-pool/cluster/caches.ts";
import { SEEN_ELSEWHERE_EVENT, SeenElsewhere } from "../../../src/mac-pool/controllers/seen-elsewhere.ts";
import { guestSpec } from "../machines.ts";

const TEXT = "02:5d:1c:00:00:a3";
const MAC = parseMac(TEXT) as Mac;
const FLAP = "2026-01-02T12:00:00Z";

/** A VMI of the address, as the caches keep it. */
const instance = (nodeName: string): KubeObject => ({
  metadata: { namespace: "shop", name: "web", uid: "vmi-1", creationTimestamp: "2026-01-02T00:00:00Z" },
  spec: guestSpec([{ name: "net1" }]),
  status: { nodeName, interfaces: [{ name: "net1", mac: TEXT }] },
});

const reportOf = (node: string, ...flaps: string[]): NodeMACs => ({
  metadata: { name: node, ownerReferences: [{ apiVersion: "v1", kind: "Node", name: node, uid: "u" }] },
  addresses: [],
  stations: flaps.map((lastFlap) => ({ mac: TEXT, bridge: "br1", uplink: "eno2", lastSeen: lastFlap, lastFlap })),
});

let told: string[];
let counts: number[];
let vmi: KubeObject | undefined;
/** Other objects with the address that run, managed or not. */
let others: KubeObject[];
let departedMs: number | undefined;
let reports: Map<string, NodeMACs>;
let onInstance: Handler<KubeObject>;
let onReport: Handler<NodeMACs>;
let stop: AbortController;
let running: Promise<void>;

beforeEach(async () => {
  [told, counts, vmi, reports, others, departedMs] = [[], [], undefined, new Map(), [], undefined];
  [onInstance, onReport] = [{}, {}];
  stop = new AbortController();
  const caches = {
    hasSynced: true,
    whenSynced: async () => {},
    namespaces: { on: () => () => {} },
    pods: { on: () => () => {}, get: () => undefined, byIndex: () => [] },
    departures: { lastOf: () => departedMs },
    instances: {
      on: (handler: Handler<KubeObject>) => {
        onInstance = handler;
        return () => {};
      },
      get: () => vmi,
      byIndex: () => [...(vmi === undefined ? [] : [vmi]), ...others],
    },
    nodeMacs: {
      on: (handler: Handler<NodeMACs>) => {
        onReport = handler;
        return () => {};
      },
      list: () => [...reports.values()],
      byIndex: (_name: string, mac: string) => [...reports.values()].filter((one) => flappingMacs(one).includes(mac)),
    },
    running: (mac: Mac) =>
      mac === MAC && vmi !== undefined
        ? [
            {
              kind: "VirtualMachineInstance",
              namespace: "shop",
              name: "web",
              uid: "vmi-1",
              migrations: [],
              isManaged: true,
            },
          ]
        : [],
  } as unknown as Caches;
  const event = ({ metadata }: Regarding, type: string, reason: string, message: string): void => {
    told.push(`${type} ${reason} ${metadata.name}: ${message}`);
  };
  const events = { event } as unknown as EventRecorder;
  running = new SeenElsewhere({ caches, events, onCount: (count) => counts.push(count) }).run(stop.signal);
  await vi.waitFor(() => expect(onReport.add).toBeDefined());
});
afterEach(async () => {
  stop.abort();
  await running;
});

function report(node: string, ...flaps: string[]): void {
  const old = reports.get(node);
  const now = reportOf(node, ...flaps);
  reports.set(node, now);
  if (old === undefined) onReport.add?.(now, { created: true });
  else onReport.update?.(now, old);
}

function runOn(node: string): void {
  const old = vmi;
  vmi = instance(node);
  if (old === undefined) onInstance.add?.(vmi, { created: true });
  else onInstance.update?.(vmi, old);
}

describe("an object whose address is used outside of the cluster", () => {
  it("is told once, with the node's words, and counted until the report says so no more", () => {
    runOn("node-a");
    report("node-a", FLAP);
    report("node-a", "2026-01-02T12:10:00Z");
    expect(told).toEqual([
      expect.stringMatching(
        `^Warning ${SEEN_ELSEWHERE_EVENT} web: MAC ${TEXT} .* uplink eno2 of bridge br1 on node node-a`,
      ),
    ]);
    expect(counts.at(-1)).toBe(1);
    report("node-a");
    expect(counts.at(-1)).toBe(0);
    report("node-a", FLAP);
    expect(told).toHaveLength(2);
  });

  it("is told whether the report or the object comes first, and only on the node where it runs", () => {
    report("node-a", FLAP);
    runOn("node-b");
    expect(told).toEqual([]);
    runOn("node-a");
    expect(told).toHaveLength(1);
    runOn("node-b");
    expect(counts.at(-1)).toBe(0);
  });

  it("is not told where another object of the cluster has it on another node, nor for a minute after that one left", () => {
    others = [instance("node-b")];
    runOn("node-a");
    report("node-a", FLAP);
    others = [];
    departedMs = Date.parse(FLAP) - 59_000;
    report("node-a", FLAP);
    expect(told).toEqual([]);
    departedMs = Date.parse(FLAP) - 61_000;
    report("node-a", FLAP);
    expect(told).toHaveLength(1);
  });

  it("is not counted by a replica that leads no more", async () => {
    runOn("node-a");
    report("node-a", FLAP);
    stop.abort();
    await running;
    expect(counts.at(-1)).toBe(0);
  });
});
