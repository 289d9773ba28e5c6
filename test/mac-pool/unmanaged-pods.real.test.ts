import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NETWORKS_ANNOTATION, POD_WEBHOOK } from "../../src/api/names.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { PENDING_MS } from "../../src/mac-pool/claims/limits.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { machine, macsOf } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";
import { WarpedClock } from "./warped-clock.ts";

const QUARANTINE_S = 300;
const hex = (byte: number): string => byte.toString(16).padStart(2, "0");
const macAt = (number: number): string => `02:5d:1c:00:00:${hex(number)}`;
/** Of a pool of eight addresses; this one is in none. */
const ELSEWHERE = "02:5d:1c:00:ff:ff";
const VM_PATH = "/apis/kubevirt.io/v1/namespaces/victim/virtualmachines";

describe("pods that the pool does not manage", () => {
  const clock = new WarpedClock();
  const stop = new AbortController();
  let fixture: PoolFixture;
  let running: Promise<void>;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    ({ running } = await fixture.startInProcess("one", clock, new Registry(), stop.signal));
    const ranges = [{ start: macAt(0), end: macAt(7) }];
    await fixture.createPool("default", { ranges, maxAddressesPerNamespace: 6, quarantineSeconds: QUARANTINE_S });
    for (const name of ["victim", "stranger", "tenant"]) {
      const labels = name === "tenant" ? { [POD_WEBHOOK]: "allocate" } : {};
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

  const ask = (name: string, macs: readonly string[], namespace = "stranger", more: object = {}): Promise<KubeObject> =>
    fixture.admin.create(KINDS.pods, {
      metadata: {
        name,
        namespace,
        annotations: { [NETWORKS_ANNOTATION]: JSON.stringify(macs.map((mac) => ({ name: "br1-net", mac }))) },
        ...more,
      },
      spec: { containers: [{ name: "c", image: "none" }] },
    });
  /** Who says that he is a launcher of a VM that is not there. */
  const launcher = {
    labels: { "kubevirt.io": "virt-launcher" },
    ownerReferences: [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: "fake", uid: "fake" }],
  };
  const vm = (name: string, macAddress?: string): KubeObject =>
    machine(name, "victim", [{ name: "a", ...(macAddress !== undefined && { macAddress }) }]);
  const create = async (object: KubeObject): Promise<{ readonly mac: string; readonly warning: string }> => {
    const { status, body, headers } = await fixture.admin.raw("POST", VM_PATH, { body: object });
    if (status >= 300) throw new Error(JSON.stringify(body));
    return { mac: macsOf(body as KubeObject)[0] ?? "", warning: [headers.warning ?? []].flat().join() };
  };
  const remove = (name: string): Promise<unknown> =>
    fixture.admin.delete(KINDS.virtualMachines, { name, namespace: "victim" });
  const ownersOf = async (mac: string): Promise<string[] | undefined> =>
    (await fixture.claim(mac))?.status?.owners.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);
  const owned = (mac: string, ...owners: string[]): Promise<unknown> =>
    eventually(`${mac} is ${owners.join(" and ") || "nobody"}'s`, async () => {
      return JSON.stringify(await ownersOf(mac)) === JSON.stringify(owners);
    });
  const optIn = (value: string | null): Promise<unknown> => {
    const body = { metadata: { labels: { [POD_WEBHOOK]: value } } };
    return fixture.admin.patch(RESOURCES.namespaces, { name: "tenant" }, { type: "merge", body });
  };

  it("keep no VM from its address when it is made anew, and no other from it later", async () => {
    const { mac } = await create(vm("web"));
    await ask("pending", [mac]);
    await ask("says-it-is-a-launcher", [mac], "stranger", launcher);
    await remove("web");
    const again = await create(vm("web", mac));
    expect(again.warning).toContain(
      `MAC ${mac} of interface \\"a\\" is also listed by Pod stranger/pending (net1), to which the MAC pool did not give it`,
    );
    await remove("web");
    clock.putForward(PENDING_MS);
    await owned(mac);
    await create(vm("other", mac));
    await owned(mac, "VirtualMachine victim/other");
  });

  it("have no claim, count for no limit, and what they list is the pool's last choice", async () => {
    const listed = [macAt(0), macAt(1), macAt(2), macAt(3), ELSEWHERE];
    await ask("greedy", listed);
    await ask("greedy-launcher", listed, "stranger", launcher);
    const held = (await fixture.claims()).map(({ spec }) => spec.mac);
    const left = [4, 5, 6, 7].map(macAt).filter((mac) => !held.includes(mac));
    for (const [number] of left.entries()) expect(listed).not.toContain((await create(vm(`free-${number}`))).mac);
    const last = await create(vm("last"));
    expect(listed).toContain(last.mac);
    expect(last.warning).toContain(`MAC ${last.mac} of interface \\"a\\" is also listed by Pod stranger/greedy`);
    await owned(last.mac, "VirtualMachine victim/last");
    const claims = await fixture.claims();
    expect(claims.flatMap(({ status }) => status?.owners ?? []).filter(({ kind }) => kind === "Pod")).toEqual([]);
    for (const name of ["last", ...[...left.keys()].map((number) => `free-${number}`)]) await remove(name);
  });

  it("stop no VM by listing thousands of addresses, however many of them list the same", async () => {
    const macs = Array.from({ length: 3_500 }, (_, index) => `02:aa:00:00:${hex(index >> 8)}:${hex(index & 255)}`);
    const status = JSON.stringify(macs.map((mac) => ({ name: "n", mac })));
    for (const name of ["hog", "hog-too", "hog-again"]) {
      await ask(name, macs);
      const patch = { type: "merge", body: { metadata: { annotations: { [NETWORKS_ANNOTATION]: status } } } } as const;
      await fixture.admin.patch(KINDS.pods, { name, namespace: "stranger" }, patch);
    }
    const { mac } = await create(vm("beside-hogs"));
    await owned(mac, "VirtualMachine victim/beside-hogs");
    await remove("beside-hogs");
  });

  it("lose their claim when their namespace opts out, and share an address when it opts in again", async () => {
    await ask("managed", [ELSEWHERE], "tenant");
    await owned(ELSEWHERE, "Pod tenant/managed");
    await expect(create(vm("early", ELSEWHERE))).rejects.toThrow("is in use by Pod tenant/managed");
    await optIn(null);
    clock.putForward(PENDING_MS);
    await owned(ELSEWHERE);
    await create(vm("late", ELSEWHERE));
    await owned(ELSEWHERE, "VirtualMachine victim/late");
    await optIn("allocate");
    await owned(ELSEWHERE, "VirtualMachine victim/late", "Pod tenant/managed");
    await expect(create(vm("third", ELSEWHERE))).rejects.toThrow("is in use by VirtualMachine victim/late");
    await optIn("ignore");
    clock.putForward(PENDING_MS);
    await owned(ELSEWHERE, "VirtualMachine victim/late");
  });
});
