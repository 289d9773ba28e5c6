import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { MACClaim } from "../../src/api/mac-claim.ts";
import { NETWORKS_ANNOTATION, POD_WEBHOOK, VM_WEBHOOK } from "../../src/api/names.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { PENDING_MS } from "../../src/mac-pool/claims/limits.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { machine, macsOf } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";
import { WarpedClock } from "./warped-clock.ts";

const QUARANTINE_S = 300;
const LIMIT = 6;
/** Of the pool of the other tenants, and of the victim's. */
const commonAt = (number: number): string => `02:5d:1c:00:00:${number.toString(16).padStart(2, "0")}`;
const victimAt = (number: number): string => `02:5d:1c:00:01:${number.toString(16).padStart(2, "0")}`;
const numbers = (count: number): number[] => [...Array(count).keys()];
const VM_PATH = "/apis/kubevirt.io/v1/namespaces/victim/virtualmachines";

describe("objects that no webhook reviews", () => {
  const clock = new WarpedClock();
  const stop = new AbortController();
  let fixture: PoolFixture;
  let running: Promise<void>;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    ({ running } = await fixture.startInProcess("one", clock, new Registry(), stop.signal));
    const shared = { explicitAddresses: "OwnPool", quarantineSeconds: QUARANTINE_S } as const;
    const rangeOf = (at: (number: number) => string, count: number) => [{ start: at(0), end: at(count - 1) }];
    await fixture.createPool("default", {
      ...shared,
      ranges: rangeOf(commonAt, 16),
      maxAddressesPerNamespace: LIMIT,
    });
    await fixture.createPool("victim", {
      ...shared,
      ranges: rangeOf(victimAt, 4),
      namespaceSelector: { matchLabels: { tenant: "victim" } },
    });
    const labelsOf = { victim: { tenant: "victim" }, wild: { [VM_WEBHOOK]: "ignore" }, late: {} };
    for (const [name, labels] of Object.entries(labelsOf)) {
      await fixture.admin.create(RESOURCES.namespaces, { metadata: { name, labels } });
      await fixture.admin.create(RESOURCES.serviceAccounts, { metadata: { name: "default", namespace: name } });
    }
    await fixture.registerWebhooks();
  });
  afterAll(async () => {
    stop.abort();
    await running;
    await fixture?.[Symbol.asyncDispose]();
  });

  const create = async (
    name: string,
    macAddress?: string,
  ): Promise<{ readonly mac: string; readonly warning: string }> => {
    const vm = machine(name, "victim", [{ name: "a", ...(macAddress !== undefined && { macAddress }) }]);
    const { status, body, headers } = await fixture.admin.raw("POST", VM_PATH, { body: vm });
    if (status >= 300) throw new Error(JSON.stringify(body));
    return { mac: macsOf(body as KubeObject)[0] ?? "", warning: [headers.warning ?? []].flat().join() };
  };
  const remove = (name: string): Promise<unknown> =>
    fixture.admin.delete(KINDS.virtualMachines, { name, namespace: "victim" });
  const claimsOf = async (namespace: string): Promise<MACClaim[]> =>
    (await fixture.claims()).filter(({ status }) => status?.owners.some((owner) => owner.namespace === namespace));
  const has = (namespace: string, count: number): Promise<unknown> =>
    eventually(
      `namespace ${namespace} has ${count} addresses`,
      async () => (await claimsOf(namespace)).length === count,
    );
  const adopted = (): Promise<unknown> =>
    eventually("nothing is left to adopt", async () =>
      (await fixture.admin.list(KINDS.pools)).items.every(({ status }) =>
        status?.conditions?.some(({ type, status: is }) => type === "Adopted" && is === "True"),
      ),
    );
  const patch = (resource: typeof RESOURCES.namespaces, name: string, body: object): Promise<unknown> =>
    fixture.admin.patch(resource, { name }, { type: "merge", body });

  it("take no address of another tenant, and as many of their own pool as they may ask for", async () => {
    const { mac } = await create("web");
    const listed = [...numbers(4).map(victimAt), ...numbers(LIMIT + 4).map(commonAt)];
    const nics = listed.map((macAddress, index) => ({ name: `n${index}`, macAddress }));
    await fixture.admin.create(KINDS.virtualMachines, machine("hog", "wild", nics));
    await has("wild", LIMIT);
    await adopted();
    const held = await claimsOf("wild");
    expect(held.map(({ spec }) => spec.origin)).toEqual(Array(LIMIT).fill("observed"));
    expect(held.map(({ spec }) => spec.pool)).toEqual(Array(LIMIT).fill("default"));

    const beside = `is also listed by VirtualMachine wild/hog (n${listed.indexOf(mac)}), to which the MAC pool did not give it`;
    await remove("web");
    expect((await create("web", mac)).warning).toContain(beside);
    for (const name of ["second", "third", "fourth"]) expect((await create(name)).warning).toContain("wild/hog");
    await expect(create("fifth")).rejects.toThrow("MACPool victim");
    await has("victim", 4);

    await remove("web");
    clock.putForward(PENDING_MS);
    await eventually("it rests", async () => (await fixture.claim(mac))?.status?.phase === "Quarantined");
    clock.putForward(QUARANTINE_S * 1000);
    await eventually("it is free", async () => (await fixture.claim(mac)) === undefined);
    expect((await create("web", mac)).warning).toContain(beside);
    await has("wild", LIMIT);
  });

  it("get more of their own pool once they may have more", async () => {
    await patch(KINDS.pools as never, "default", { spec: { maxAddressesPerNamespace: LIMIT + 2 } });
    await has("wild", LIMIT + 2);
    await adopted();
  });

  it("own what they list of their pool once their namespace opts in, and nothing of another one", async () => {
    await remove("second");
    await fixture.admin.create(KINDS.pods, {
      metadata: {
        name: "waiting",
        namespace: "late",
        annotations: {
          [NETWORKS_ANNOTATION]: JSON.stringify(
            [...numbers(4).map(victimAt), commonAt(15)].map((mac) => ({ name: "n", mac })),
          ),
        },
      },
      spec: { containers: [{ name: "c", image: "none" }] },
    });
    await patch(RESOURCES.namespaces, "late", { metadata: { labels: { [POD_WEBHOOK]: "allocate" } } });
    await has("late", 1);
    await patch(RESOURCES.namespaces, "wild", { metadata: { labels: { [VM_WEBHOOK]: null } } });
    await has("wild", LIMIT + 4);
    await adopted();
    expect((await claimsOf("late")).map(({ spec }) => spec.mac)).toEqual([commonAt(15)]);
    const { warning } = await create("second");
    expect(warning).toContain("VirtualMachine wild/hog");
    expect(warning).toContain("Pod late/waiting");
    expect((await claimsOf("victim")).length).toBe(4);
  });
});
