import { describe, expect, it } from "vitest";
import type { Mac } from "../../../src/api/mac.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import type { Handler, Informer } from "../../../src/kube/informer/informer.ts";
import { Creations } from "../../../src/mac-pool/caches/creations.ts";
import { machineMacs } from "../../../src/mac-pool/objects/holders.ts";
import { machine } from "../machines.ts";

const KEPT_MS = 120_000;
const MAC = 0x02_00_00_00_00_01 as Mac;

function vm(name: string, version: string): KubeObject {
  const made = machine(name, "default", [{ name: "a", macAddress: "02:00:00:00:00:01" }]);
  return { ...made, metadata: { ...made.metadata, uid: `u-${name}`, resourceVersion: version } };
}

/** What a watch tells, and what is remembered of it. */
function bed() {
  let nowMs = 0;
  let handler: Handler<KubeObject> = {};
  const informer = {
    on(given: Handler<KubeObject>) {
      handler = given;
      return () => {};
    },
  } as unknown as Informer<KubeObject>;
  const creations = new Creations(informer, {
    clock: { ...systemClock, monotonicMs: () => nowMs },
    keptMs: () => KEPT_MS,
    macsOf: machineMacs,
    isManaged: ({ metadata }) => metadata.name !== "unmanaged",
  });
  const createdAfter = (resourceVersion: string): unknown[] =>
    creations.after({ resourceVersion }, MAC).map(({ name }) => name);
  const add = (name: string, version: string, created = true): void => handler.add?.(vm(name, version), { created });
  return { creations, createdAfter, add, list: () => handler.listed?.(), pass: (ms: number) => (nowMs += ms) };
}

describe("the creations that are remembered", () => {
  it("are those that came after a version, whether the objects still exist or not", () => {
    const { creations, createdAfter, add } = bed();
    add("early", "9");
    add("late", "11");
    expect(createdAfter("8")).toEqual(["early", "late"]);
    expect(createdAfter("10")).toEqual(["late"]);
    expect(createdAfter("11")).toEqual([]);
    expect(createdAfter("not-a-number")).toEqual([]);
    expect(creations.has("u-early")).toBe(true);
  });

  it("are none of objects that were listed, or came without the webhook", () => {
    const { createdAfter, add } = bed();
    add("listed", "11", false);
    add("unmanaged", "12");
    expect(createdAfter("10")).toEqual([]);
  });

  it("are forgotten once no claim waits for them, and with the history that they are of", () => {
    const { creations, createdAfter, add, list, pass } = bed();
    add("first", "11");
    pass(KEPT_MS + 1);
    expect(createdAfter("10")).toEqual([]);
    add("second", "12");
    expect(creations.has("u-first")).toBe(false);
    expect(createdAfter("10")).toEqual(["second"]);
    list();
    expect(createdAfter("10")).toEqual([]);
  });

  it("are twenty thousand addresses, the last ones, however often somebody creates and deletes a VM", () => {
    const { creations, createdAfter, add } = bed();
    for (let version = 10; version < 20_020; version++) add(`vm-${version}`, `${version}`);
    expect(createdAfter("1")).toHaveLength(20_000);
    expect(createdAfter("1")[0]).toBe("vm-20");
    expect(creations.has("u-vm-19")).toBe(false);
    expect(createdAfter("20018")).toEqual(["vm-20019"]);
  });
});
