import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { NodeMACs } from "../../src/api/node-macs.ts";
import { EVERY_BRIDGE } from "../../src/bridge-marker/bridge-resources.ts";
import { NodeLinks } from "../../src/bridge-marker/node-links.ts";
import { NodeMacsPublisher } from "../../src/bridge-marker/node-macs-publisher.ts";
import { ApiError } from "../../src/kube/client/api-error.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import type { Log } from "../../src/kube/log.ts";
import { silentLog } from "../../src/kube/log.ts";
import { ManualClock } from "../kube/support/manual-clock.ts";

const REFRESH_MS = 600_000;

let clock: ManualClock;
let links: NodeLinks;
let written: NodeMACs[];
let refusal: ApiError | undefined;
let warnings: string[];
let publisher: NodeMacsPublisher;
let stop: AbortController;
let running: Promise<void>;

beforeEach(() => {
  clock = new ManualClock();
  links = new NodeLinks(EVERY_BRIDGE, () => false);
  written = [];
  refusal = undefined;
  warnings = [];
  const client = {
    apply: async (_resource: unknown, object: NodeMACs) => {
      if (refusal !== undefined) throw refusal;
      written.push(object);
      return object;
    },
  } as unknown as KubeClient;
  const log: Log = Object.assign(Object.create(silentLog), {
    warn: (...args: unknown[]) => warnings.push(String(args.at(-1))),
  });
  publisher = new NodeMacsPublisher({
    client,
    nodeName: "node-a",
    links,
    refreshMs: REFRESH_MS,
    log,
    metrics: new Registry(),
    clock,
  });
  stop = new AbortController();
  running = publisher.run(stop.signal);
});
afterEach(async () => {
  stop.abort();
  await running;
});

const LINK = { event: "link", kind: "", master: 0, mac: "", permanentMac: undefined } as const;

function addBridgeWithUplink(): void {
  links.apply({ ...LINK, index: 3, name: "br1", kind: "bridge", mtu: 1500 });
  links.apply({ ...LINK, index: 4, name: "eno2", master: 3, mtu: 1500, details: { carrier: true } });
}

/** Beyond the link with index 4. */
function seeStations(seen: readonly { mac: number; age: number; flapAge?: number }[], more = 0): void {
  const stations = seen.map(({ mac, age, flapAge }) => ({ mac, port: 4, vlan: 0, age, flapAge }));
  links.setStations({ stations, more }, 0);
  publisher.changed();
}

/** As the link monitor tells it. */
function see(mac: string, name = "eno1", index = 2): void {
  links.apply({ event: "link", index, name, kind: "", master: 0, mac, permanentMac: undefined });
  links.apply({ event: "synced" });
  publisher.changed();
}

const settle = (): Promise<void> => vi.waitFor(() => expect(clock.pending).toBeGreaterThan(0));
const reported = () => written.map(({ addresses }) => addresses.map(({ mac }) => mac).join());

describe("the report of a node's addresses", () => {
  it("is written once the links and the node are known, with the node as its owner", async () => {
    see("52:54:00:00:00:01");
    publisher.nodeSeen("uid-1");
    await vi.waitFor(() => expect(written).toHaveLength(1));
    expect(written[0]).toEqual({
      apiVersion: "macpool.network.kubevirt.io/v1alpha1",
      kind: "NodeMACs",
      metadata: { name: "node-a", ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "node-a", uid: "uid-1" }] },
      addresses: [{ mac: "52:54:00:00:00:01", interface: "eno1" }],
      bridges: [],
    });
  });

  it("is written again for another address or another node of the name, and for nothing else", async () => {
    publisher.nodeSeen("uid-1");
    see("52:54:00:00:00:01");
    await vi.waitFor(() => expect(written).toHaveLength(1));
    see("52:54:00:00:00:01");
    publisher.nodeSeen("uid-1");
    await settle();
    await clock.advance(10_000);
    see("52:54:00:00:00:02");
    await vi.waitFor(() => expect(written).toHaveLength(2));
    await clock.advance(10_000);
    publisher.nodeSeen("uid-2");
    await vi.waitFor(() => expect(written).toHaveLength(3));
    expect(reported()).toEqual(["52:54:00:00:00:01", "52:54:00:00:00:02", "52:54:00:00:00:02"]);
  });

  it("has the bridges too, and is written again when one is set anew", async () => {
    publisher.nodeSeen("uid-1");
    const bridge = {
      event: "link",
      index: 3,
      name: "br1",
      kind: "bridge",
      master: 0,
      mac: "",
      permanentMac: undefined,
    } as const;
    links.apply({ ...bridge, mtu: 1500 });
    see("52:54:00:00:00:01");
    await vi.waitFor(() => expect(written).toHaveLength(1));
    await settle();
    await clock.advance(10_000);
    links.apply({ ...bridge, mtu: 1500, vlanFiltering: true });
    publisher.changed();
    await vi.waitFor(() => expect(written.map((one) => one.bridges?.[0]?.vlanFiltering)).toEqual([false, true]));
    await publisher.withdraw(AbortSignal.timeout(1_000));
    expect(written.at(-1)?.bridges).toEqual([]);
  });

  it("is written once in ten seconds at most, and ends with the truth", async () => {
    publisher.nodeSeen("uid-1");
    see("52:54:00:00:00:00");
    await vi.waitFor(() => expect(written).toHaveLength(1));
    for (let number = 1; number < 100; number++) see(`52:54:00:00:00:${String(number).padStart(2, "0")}`);
    await settle();
    await clock.advance(10_000);
    await vi.waitFor(() => expect(written).toHaveLength(2));
    expect(reported().at(-1)).toBe("52:54:00:00:00:99");
  });

  it("has the stations, and waits a minute with those that come and go, but not with one on both sides", async () => {
    publisher.nodeSeen("uid-1");
    addBridgeWithUplink();
    seeStations([{ mac: 0x0200_0000_0001, age: 0 }]);
    see("52:54:00:00:00:01");
    await vi.waitFor(() => expect(written).toHaveLength(1));
    expect(written[0]?.stations).toEqual([
      { mac: "02:00:00:00:00:01", bridge: "br1", uplink: "eno2", lastSeen: expect.any(String) },
    ]);
    await settle();
    await clock.advance(10_000);
    seeStations([]);
    await settle();
    await clock.advance(40_000);
    expect(written).toHaveLength(1);
    await clock.advance(10_000);
    await vi.waitFor(() => expect(written).toHaveLength(2));
    expect(written[1]).not.toHaveProperty("stations");
    await settle();
    await clock.advance(10_000);
    seeStations([{ mac: 0x0200_0000_0002, age: 0, flapAge: 0 }], 9);
    await vi.waitFor(() => expect(written).toHaveLength(3));
    expect(written[2]).toMatchObject({ stations: [{ lastFlap: expect.any(String) }], moreStations: 9 });
  });

  it("waits with stations for the next report where there are many, but not with one on both sides", async () => {
    publisher.nodeSeen("uid-1");
    addBridgeWithUplink();
    const many = Array.from({ length: 65 }, (_, number) => ({ mac: 0x0200_0000_0001 + number, age: 0 }));
    seeStations(many);
    see("52:54:00:00:00:01");
    await vi.waitFor(() => expect(written).toHaveLength(1));
    await settle();
    await clock.advance(10_000);
    seeStations(many.map(({ mac, age }) => ({ mac: mac + 1, age })));
    await settle();
    await clock.advance(REFRESH_MS - 20_000);
    expect(written).toHaveLength(1);
    await clock.advance(10_000);
    await vi.waitFor(() => expect(written).toHaveLength(2));
    await settle();
    await clock.advance(10_000);
    seeStations([...many, { mac: 0x0200_0000_ffff, age: 0, flapAge: 0 }]);
    await vi.waitFor(() => expect(written).toHaveLength(3));
  });

  it("is not written for the time when a station was seen, nor for how many more there are", async () => {
    publisher.nodeSeen("uid-1");
    addBridgeWithUplink();
    seeStations([{ mac: 0x0200_0000_0001, age: 0 }]);
    see("52:54:00:00:00:01");
    await vi.waitFor(() => expect(written).toHaveLength(1));
    for (let minute = 1; minute < 10; minute++) {
      await settle();
      await clock.advance(59_000);
      seeStations([{ mac: 0x0200_0000_0001, age: 60 * minute }], minute);
    }
    await settle();
    expect(written).toHaveLength(1);
    await clock.advance(REFRESH_MS);
    await vi.waitFor(() => expect(written).toHaveLength(2));
    expect(written[1]).toMatchObject({ moreStations: 9 });
  });

  it("is written again after a while, in case that somebody deleted it", async () => {
    publisher.nodeSeen("uid-1");
    see("52:54:00:00:00:01");
    await vi.waitFor(() => expect(written).toHaveLength(1));
    await settle();
    await clock.advance(REFRESH_MS);
    await vi.waitFor(() => expect(written).toHaveLength(2));
  });

  it.each([
    { status: 404, reason: "NotFound", told: [] },
    {
      status: 403,
      reason: "Forbidden",
      told: ["the node's MAC addresses can't be reported, so MAC pools do not know them"],
    },
  ])("is tried again after $status, without a word more than once", async ({ status, reason, told }) => {
    refusal = new ApiError({ status, reason, message: "no" });
    publisher.nodeSeen("uid-1");
    see("52:54:00:00:00:01");
    for (let times = 0; times < 3; times++) {
      await settle();
      await clock.advance(60_000);
    }
    refusal = undefined;
    await settle();
    await clock.advance(60_000);
    await vi.waitFor(() => expect(written).toHaveLength(1));
    expect(warnings).toEqual(told);
  });

  it("is empty once the component is removed, if there was one", async () => {
    await publisher.withdraw(AbortSignal.timeout(1_000));
    expect(written).toEqual([]);
    publisher.nodeSeen("uid-1");
    see("52:54:00:00:00:01");
    await vi.waitFor(() => expect(written).toHaveLength(1));
    await publisher.withdraw(AbortSignal.timeout(1_000));
    expect(reported()).toEqual(["52:54:00:00:00:01", ""]);
  });
});
