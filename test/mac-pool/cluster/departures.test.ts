import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import type { Clock } from "../../../src/kube/clock.ts";
import { Departures } from "../../../src/mac-pool/cluster/departures.ts";
import type { Informers } from "../../../src/mac-pool/cluster/informers.ts";
import { guestSpec } from "../machines.ts";
import { FakeInformer } from "./fake-informer.ts";

const [MAC, OTHER] = ["02:00:00:00:00:01", "02:00:00:00:00:02"] as const;

const instance = (name: string, nodeName: string, mac: string = MAC): KubeObject => ({
  metadata: { namespace: "shop", name },
  spec: guestSpec([{ name: "net1" }]),
  status: { nodeName, interfaces: [{ name: "net1", mac }] },
});

function fixture() {
  const instances = new FakeInformer();
  const time = { nowMs: 1_000 };
  const clock = { now: () => time.nowMs } as unknown as Clock;
  const departures = new Departures({ instances, pods: new FakeInformer() } as unknown as Informers, clock);
  return { instances, departures, time };
}

describe("the last departure of an address", () => {
  it("is that of an object that goes to another node, gets another address, or ends", () => {
    const leave: readonly ((instances: FakeInformer) => void)[] = [
      (instances) => instances.set(instance("web", "node-b")),
      (instances) => instances.set(instance("web", "node-a", OTHER)),
      (instances) => instances.delete("web"),
    ];
    for (const go of leave) {
      const { instances, departures } = fixture();
      instances.set(instance("web", "node-a"));
      instances.set(instance("web", "node-a"));
      expect(departures.lastOf(MAC)).toBeUndefined();
      go(instances);
      expect(departures.lastOf(MAC)).toBe(1_000);
      expect(departures.lastOf(OTHER)).toBeUndefined();
    }
  });

  it("is forgotten when no report can tell of it any more", () => {
    const { instances, departures, time } = fixture();
    for (const [name, mac] of [
      ["web", MAC],
      ["db", OTHER],
    ] as const) {
      instances.set(instance(name, "node-a", mac));
      instances.delete(name);
      time.nowMs += 31 * 60_000;
    }
    expect([MAC, OTHER].map((mac) => departures.lastOf(mac))).toEqual([undefined, 1_000 + 31 * 60_000]);
  });
});
