import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION, POD_WEBHOOK } from "../../src/api/names.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { MAX_INTERFACES } from "../../src/mac-pool/claims/limits.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { MAX_POD_MACS } from "../../src/mac-pool/objects/pod-networks.ts";
import { readRequestCounts } from "../bench/request-counts.ts";
import { eventually } from "../support/eventually.ts";
import { machine, macsOf } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

const LIMIT = 200;
const VICTIM_SIZE = 1_024;
const ASKED = 700;

interface Element {
  readonly name: string;
  readonly interface?: string;
  readonly mac?: string;
}

const macIn = (pool: "tenant" | "victim", number: number): string => {
  const octets = [pool === "tenant" ? 1 : 2, number >> 8, number & 255];
  return `02:5d:1c:${octets.map((octet) => octet.toString(16).padStart(2, "0")).join(":")}`;
};
const listed = (pool: "tenant" | "victim", count: number, from = 0): Element[] =>
  Array.from({ length: count }, (_, index) => ({ name: "n", interface: `v${index}`, mac: macIn(pool, from + index) }));
const victims = (count: number): Element[] => listed("victim", count);

describe("a running pod whose networks are changed, on a real API server", { timeout: 120_000 }, () => {
  let fixture: PoolFixture;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await fixture.startReplica("one");
    for (const [name, size] of [
      ["tenant", 4_096],
      ["victim", VICTIM_SIZE],
    ] as const) {
      await fixture.admin.create(RESOURCES.namespaces, {
        metadata: { name, labels: { pool: name, [POD_WEBHOOK]: "allocate" } },
      });
      await fixture.createPool(name, {
        ranges: [{ start: macIn(name, 0), end: macIn(name, size - 1) }],
        namespaceSelector: { matchLabels: { pool: name } },
        explicitAddresses: "OwnPool",
        maxAddressesPerNamespace: LIMIT,
        quarantineSeconds: 0,
      });
    }
    await fixture.admin.create(RESOURCES.serviceAccounts, { metadata: { name: "default", namespace: "tenant" } });
    await fixture.registerWebhooks();
  }, 120_000);
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  const inTenant = (name: string) => ({ name, namespace: "tenant" });
  const networksOf = ({ metadata }: KubeObject): Element[] =>
    JSON.parse(metadata.annotations?.[NETWORKS_ANNOTATION] ?? "[]");
  const create = async (name: string): Promise<Element> => {
    const pod = await fixture.admin.create(KINDS.pods, {
      metadata: { ...inTenant(name), annotations: { [NETWORKS_ANNOTATION]: "n" } },
      spec: { containers: [{ name: "main", image: "any" }] },
    });
    return networksOf(pod)[0] as Element;
  };
  const annotate = (
    name: string,
    annotations: Record<string, unknown>,
    subresource?: "status",
  ): Promise<KubeObject> => {
    const texts = Object.entries(annotations).map(([key, value]) => [key, JSON.stringify(value)]);
    const body = { metadata: { annotations: Object.fromEntries(texts) } };
    return fixture.admin.patch(KINDS.pods, inTenant(name), { type: "merge", body }, subresource && { subresource });
  };
  const ask = (name: string, networks: readonly Element[]) => annotate(name, { [NETWORKS_ANNOTATION]: networks });
  const ownedBy = async (pod: string): Promise<string[]> =>
    (await fixture.claims())
      .filter(({ status }) => status?.owners.some(({ kind, name }) => kind === "Pod" && name === pod))
      .map(({ spec }) => spec.mac);
  /** How often the leader has read pods by their names. */
  const podReads = async (): Promise<number> => {
    const { body } = await fixture.admin.raw("GET", "/metrics");
    return readRequestCounts(String(body)).get("GET pods") ?? 0;
  };
  const readAfter = async (act: () => Promise<unknown>): Promise<void> => {
    const before = await podReads();
    await act();
    await eventually("the leader has read the pod", async () => (await podReads()) > before);
  };

  it("gets an address for a network that is plugged in, and gives it up once multus has taken it back", async () => {
    let first: Element = { name: "" };
    await readAfter(async () => (first = await create("plugged")));
    let plugged: Element[] = [];
    await readAfter(
      async () => (plugged = networksOf(await ask("plugged", [first, { name: "m", interface: "net9" }]))),
    );
    const mac = plugged[1]?.mac ?? "";
    expect(plugged).toEqual([first, { name: "m", interface: "net9", mac: expect.stringMatching(/^02:5d:1c:01:/) }]);
    expect((await fixture.claim(mac))?.status?.owners).toMatchObject([{ kind: "Pod", interface: "net9" }]);

    await annotate(
      "plugged",
      { [NETWORK_STATUS_ANNOTATION]: [{ name: "tenant/m", interface: "net9", mac }] },
      "status",
    );
    await readAfter(() => ask("plugged", [first]));
    await readAfter(() => create("later"));
    expect(await ownedBy("plugged")).toEqual(expect.arrayContaining([first.mac, mac]));
    await annotate("plugged", { [NETWORK_STATUS_ANNOTATION]: [] }, "status");
    await eventually("its address is free", async () => (await fixture.claim(mac)) === undefined);
    expect(await ownedBy("plugged")).toEqual([first.mac]);
  });

  it("is held to every rule of a new pod: policy, limit of the namespace, and number of interfaces", async () => {
    const first = await create("greedy");
    await expect(ask("greedy", [first, ...victims(1)])).rejects.toThrow(
      "which serves namespace tenant with explicitAddresses OwnPool.",
    );
    await expect(ask("greedy", victims(ASKED))).rejects.toThrow("has 700 interfaces. The maximum is 128");
    const bare = (from: number, count: number): Element[] =>
      Array.from({ length: count }, (_, index) => ({ name: "n", interface: `i${from + index}` }));
    const many = networksOf(await ask("greedy", [first, ...bare(0, MAX_INTERFACES - 1)]));
    await eventually("the replica knows them", async () =>
      (await fixture.metrics("one")).includes(`kubevirt_macpool_free{pool="tenant"} ${4_096 - MAX_INTERFACES - 2}\n`),
    );
    await expect(ask("greedy", bare(1_000, MAX_INTERFACES))).rejects.toThrow(
      `maxAddressesPerNamespace of MACPool tenant is ${LIMIT}`,
    );
    expect(await ownedBy("greedy")).toHaveLength(MAX_INTERFACES);
    expect(networksOf(await fixture.admin.get(KINDS.pods, inTenant("greedy")))).toEqual(many);
    expect(networksOf(await ask("greedy", [first]))).toEqual([first]);
  });

  it("owns no more of its pool than an object may have, whatever is written past the webhook, and nothing of another pool", async () => {
    await create("past");
    await annotate("past", { [NETWORKS_ANNOTATION]: victims(ASKED) }, "status");
    const first = await create("past-too");
    await annotate("past-too", { [NETWORKS_ANNOTATION]: listed("tenant", ASKED, 2_000) }, "status");
    const own = listed("tenant", ASKED, 2_000).map(({ mac }) => mac);
    const ownedByListing = async (): Promise<string[]> =>
      (await ownedBy("past-too")).filter((mac) => own.includes(mac) && mac !== first.mac);
    const allowed = own.slice(0, MAX_INTERFACES).filter((mac) => mac !== first.mac);
    await eventually("the addresses are claimed", async () => (await ownedByListing()).length >= allowed.length);
    const nics = Array.from({ length: MAX_INTERFACES }, (_, index) => ({ name: `n${index}` }));
    const vm = await fixture.admin.create(KINDS.virtualMachines, machine("honest", "victim", nics));
    const asked = victims(ASKED).map(({ mac }) => mac);
    const read = new Set(asked.slice(0, MAX_POD_MACS));
    const given = macsOf(vm);
    expect(given.filter((mac) => mac === undefined || read.has(mac))).toEqual([]);
    expect(new Set(given).size).toBe(MAX_INTERFACES);
    expect((await ownedBy("past")).filter((mac) => asked.includes(mac))).toEqual([]);
    expect((await ownedByListing()).sort()).toEqual(allowed);
  });
});
