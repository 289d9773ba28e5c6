import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane/control-plane.ts";
import { eventually } from "../support/eventually.ts";
import { inFlight } from "../support/in-flight.ts";
import { machine, macsOf } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

const RANGE = { start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" };
const RETURNED = "02:5d:1c:00:00:01";
const IN_FLIGHT = 16;

/** More versions than an API server that starts gives out by itself. */
const LOST_WRITES = 400;

describe("a MAC pool whose etcd is restored without new versions", { timeout: 600_000 }, () => {
  let controlPlane: ControlPlane;
  let fixture: PoolFixture;

  beforeAll(async () => {
    controlPlane = await startControlPlane();
    fixture = await PoolFixture.start({ controlPlane });
    for (const name of ["one", "two"]) await fixture.startReplica(name);
    await fixture.createPool("default", { ranges: [RANGE], quarantineSeconds: 0 });
    await fixture.registerWebhooks();
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  const ref = (name: string) => ({ name, namespace: "default" });
  const create = (name: string, macAddress?: string): Promise<KubeObject> =>
    fixture.admin.create(
      KINDS.virtualMachines,
      machine(name, "default", [{ name: "a", ...(macAddress && { macAddress }) }]),
    );
  const isBound = async (mac: string): Promise<boolean> => (await fixture.claim(mac))?.status?.phase === "Allocated";
  const everyCacheHas = (resource: string, objects: number, limit?: { limitMs: number }): Promise<unknown> => {
    const has = async (): Promise<boolean> => {
      const texts = await Promise.all(["one", "two"].map((name) => fixture.metrics(name).catch(() => "")));
      return texts.every((text) => text.includes(`informer_objects{resource="${resource}"} ${objects}\n`));
    };
    return eventually(`every replica has ${objects} ${resource}`, has, limit);
  };

  it("ends, sees what is there when it is started anew, and goes on giving each address once", async () => {
    const kept = macsOf(await create("kept"))[0] ?? "";
    await create("returned", RETURNED);
    await eventually("both are bound", async () => (await isBound(kept)) && (await isBound(RETURNED)));
    await controlPlane.saveEtcd();

    await fixture.admin.delete(KINDS.virtualMachines, ref("returned"));
    await eventually("its address is free", async () => (await fixture.claim(RETURNED)) === undefined);
    const lost = await inFlight(IN_FLIGHT, 5, (number) => create(`lost-${number}`));
    await inFlight(IN_FLIGHT, LOST_WRITES, (number) => {
      const body = { metadata: { annotations: { lost: String(number) } } };
      return fixture.admin.patch(KINDS.virtualMachines, ref("kept"), { type: "merge", body });
    });
    await everyCacheHas("virtualmachines", 1 + lost.length);

    await controlPlane.restoreEtcd();
    await everyCacheHas("virtualmachines", 2);
    expect(fixture.restarts.toSorted()).toEqual(["one", "two"]);
    // The leader may have claimed for what is lost, before it knew. Such a claim stays for as long as a request lives.
    await everyCacheHas("macclaims", 2, { limitMs: 180_000 });
    await expect(create("thief", RETURNED)).rejects.toThrow("is in use by VirtualMachine default/returned (a)");
    const made = await inFlight(IN_FLIGHT, 40, (number) => create(`new-${number}`));
    const macs = [kept, RETURNED, ...made.flatMap(macsOf)];
    expect(new Set(macs).size).toBe(macs.length);
    await fixture.admin.delete(KINDS.virtualMachines, ref("returned"));
    const isFree = async (): Promise<boolean> => (await fixture.claim(RETURNED)) === undefined;
    // Nobody knows what was under way: the address waits for as long as a request lives.
    await eventually("its address is free once more", isFree, { limitMs: 180_000 });
  });
});
