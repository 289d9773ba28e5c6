import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import type { Handler } from "../../../src/kube/informer/informer.ts";
import { NetworkCounts } from "../../../src/mac-pool/cluster/network-counts.ts";
import { guestOf } from "../inspection/networks.ts";

/** Counts of instances that a test changes by itself. */
class Harness {
  readonly counts: NetworkCounts;
  #handler: Handler<KubeObject> = {};

  constructor(guests: readonly KubeObject[]) {
    const instances = {
      on: (handler: Handler<KubeObject>): void => {
        this.#handler = handler;
        for (const guest of guests) this.add(guest);
      },
    };
    this.counts = new NetworkCounts({ instances, pods: { on: () => {} } });
    this.counts.follow();
  }

  add(guest: KubeObject): void {
    this.#handler.add?.(guest, { created: true });
  }

  update(guest: KubeObject, old: KubeObject): void {
    this.#handler.update?.(guest, old);
  }

  delete(guest: KubeObject): void {
    this.#handler.delete?.(guest, { final: true });
  }

  get running(): number {
    const byNode = [...this.counts.of("a/net").running.values()].flatMap((nodes) => [...nodes.values()]);
    return byNode.reduce((sum, count) => sum + count, 0);
  }
}

const guest = (index: number, node = "node-a"): KubeObject => guestOf("a", `vm-${index}`, ["net"], node);
const guests = (count: number): KubeObject[] => Array.from({ length: count }, (_, index) => guest(index));
const atOnce = { share: async () => {} };

describe("the counts of users of networks", () => {
  it("may give the turn away after each VM", async () => {
    const harness = new Harness(guests(1_000));
    const seen: number[] = [];
    await harness.counts.read({ share: async () => void seen.push(harness.running) });
    expect(seen).toEqual(Array.from({ length: 1_000 }, (_, index) => index + 1));
  });

  it("have each VM once when they come, move and go while they are counted", async () => {
    const harness = new Harness(guests(10));
    let turns = 0;
    const share = async (): Promise<void> => {
      if (++turns !== 5) return;
      harness.delete(guest(0));
      harness.delete(guest(9));
      harness.update(guest(1, "node-b"), guest(1));
      harness.update(guest(8, "node-b"), guest(8));
      harness.add(guest(10));
      harness.delete(guest(7));
      harness.add(guest(7, "node-c"));
    };
    await harness.counts.read({ share });
    expect(harness.counts.of("a/net").running.get("a")).toEqual(
      new Map([
        ["node-a", 6],
        ["node-b", 2],
        ["node-c", 1],
      ]),
    );
  });

  it("have each VM once when two ask at the same time", async () => {
    const harness = new Harness(guests(10));
    const share = (): Promise<void> => Promise.resolve();
    await Promise.all([harness.counts.read({ share }), harness.counts.read({ share })]);
    expect(harness.running).toBe(10);
  });

  it("have no VM any more whose last state says that it ended", async () => {
    const harness = new Harness(guests(2));
    await harness.counts.read(atOnce);
    const ended = { ...guest(0), status: { phase: "Succeeded", nodeName: "node-a" } };
    harness.delete(ended);
    expect(harness.running).toBe(1);
  });

  it("have no VM of which only the deletion came", async () => {
    const harness = new Harness(guests(1));
    harness.delete(guest(0));
    await harness.counts.read(atOnce);
    expect(harness.running).toBe(0);
  });

  it("name the VMs of a network, as they are now", async () => {
    const harness = new Harness(guests(3));
    await harness.counts.read(atOnce);
    harness.delete(guest(1));
    const moved = guestOf("a", "vm-2", ["other"], "node-a");
    harness.update(moved, guest(2));
    const namesOf = (nad: string) => [...harness.counts.usersOf(nad).instances].map(({ metadata }) => metadata.name);
    expect(namesOf("a/net")).toEqual(["vm-0"]);
    expect(namesOf("a/other")).toEqual(["vm-2"]);
    harness.delete(moved);
    expect(namesOf("a/other")).toEqual([]);
  });

  it("let a VM wait for a node only when its launcher exists", async () => {
    const withoutNode = (name: string, phase: string) => ({
      ...guestOf("a", name, ["net"]),
      status: { phase },
    });
    const harness = new Harness([withoutNode("importing", "Pending"), withoutNode("scheduling", "Scheduling")]);
    await harness.counts.read(atOnce);
    const { waiting, starting } = harness.counts.of("a/net");
    expect(waiting.get("a")).toEqual(new Map([["scheduling", "vmi-a-scheduling"]]));
    expect(starting.get("a")).toBe(1);
  });
});
