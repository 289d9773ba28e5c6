import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { POD_WEBHOOK } from "../../src/api/names.ts";
import { isConflict } from "../../src/kube/client/api-error.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { inFlight } from "../support/in-flight.ts";
import { share } from "../support/share.ts";
import { guestSpec, machine, macsOf } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

const PATCHES = 15;
const SPEC = "/spec/template/spec";

describe("what comes and goes", () => {
  let fixture: PoolFixture;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await Promise.all([fixture.startReplica("one"), fixture.startReplica("two")]);
    await fixture.createPool("default", { ranges: [{ start: "02:5d:2c:00:00:00", end: "02:5d:2c:00:00:1f" }] });
    await fixture.admin.create(RESOURCES.namespaces, { metadata: { name: "roomy", labels: { pool: "roomy" } } });
    await fixture.createPool("roomy", {
      ranges: [{ start: "02:5d:2d:00:00:00", end: "02:5d:2d:00:0f:ff" }],
      namespaceSelector: { matchLabels: { pool: "roomy" } },
    });
    await fixture.registerWebhooks();
  });
  afterAll(() => fixture?.[Symbol.asyncDispose]());

  /** The claims that name an object. */
  const claimsOf = async (name: string) =>
    (await fixture.claims()).filter(({ status }) => status?.owners.some((owner) => owner.name === name));

  it.each([
    [1, share(40)],
    [8, share(120)],
  ])("gives its addresses back as soon as it has gone, %i at a time", async (limit, pairs) => {
    await inFlight(limit, pairs, async (index) => {
      const name = `brief-${index}`;
      await fixture.admin.create(KINDS.virtualMachines, machine(name, "default", [{ name: "a" }]));
      await fixture.admin.delete(KINDS.virtualMachines, { name, namespace: "default" });
      await eventually(`no claim names ${name}`, async () => (await claimsOf(name)).length === 0);
    });
  });

  it.each([
    ["team", "blue"],
    [POD_WEBHOOK, "allocate"],
  ])("has one owner for each address of a VM whose namespace got the label %s a moment ago", async (label, value) => {
    const namespace = `labelled-${value}`;
    await fixture.admin.create(RESOURCES.namespaces, { metadata: { name: namespace } });
    const body = { metadata: { labels: { [label]: value } } };
    await fixture.admin.patch(RESOURCES.namespaces, { name: namespace }, { type: "merge", body });
    const names = Array.from({ length: share(20) }, (_, index) => `late-${value}-${index}`);
    for (const round of ["first", "second"]) {
      for (const name of names) {
        await fixture.admin.create(KINDS.virtualMachines, machine(name, namespace, [{ name: "a" }]));
        await eventually(`${name} of the ${round} round owns its address alone`, async () => {
          const [claim, ...others] = await claimsOf(name);
          return claim?.status?.owners.length === 1 && others.length === 0;
        });
      }
      for (const name of names) await fixture.admin.delete(KINDS.virtualMachines, { name, namespace });
    }
  });

  const addresses = async (name: string): Promise<{ readonly listed: unknown[]; readonly claimed: unknown[] }> => {
    const vm = await fixture.admin.get(KINDS.virtualMachines, { name, namespace: "roomy" });
    return { listed: macsOf(vm).sort(), claimed: (await claimsOf(name)).map(({ spec }) => spec.mac).sort() };
  };

  it("has one claim for each address, however many of the same update are under way", async () => {
    const name = "same";
    await fixture.admin.create(KINDS.virtualMachines, machine(name, "roomy", [{ name: "a" }]));
    const body = { spec: { template: { spec: guestSpec([{ name: "a" }, { name: "b" }, { name: "c" }]) } } };
    await inFlight(PATCHES, PATCHES, () =>
      fixture.admin.patch(KINDS.virtualMachines, { name, namespace: "roomy" }, { type: "merge", body }),
    );
    const { listed, claimed } = await addresses(name);
    expect(listed).toHaveLength(3);
    expect(claimed).toEqual(listed);
  });

  it("has one claim for each address, however often each of several updates is tried", async () => {
    const name = "several";
    await fixture.admin.create(KINDS.virtualMachines, machine(name, "roomy", [{ name: "a" }]));
    const ref = { name, namespace: "roomy" };
    const add = async (nic: string): Promise<KubeObject> => {
      const ops = [
        { op: "add", path: `${SPEC}/domain/devices/interfaces/-`, value: { name: nic, bridge: {} } },
        { op: "add", path: `${SPEC}/networks/-`, value: { name: nic, multus: { networkName: "br1-net" } } },
      ] as const;
      try {
        return await fixture.admin.patch(KINDS.virtualMachines, ref, { type: "json", ops });
      } catch (error) {
        if (isConflict(error)) return add(nic);
        throw error;
      }
    };
    await inFlight(PATCHES, PATCHES, (index) => add(`nic-${index}`));
    const { listed, claimed } = await addresses(name);
    expect(listed).toHaveLength(1 + PATCHES);
    expect(claimed).toEqual(listed);
  });
});
