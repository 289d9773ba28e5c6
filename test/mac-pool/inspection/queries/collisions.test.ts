import { describe, expect, it } from "vitest";
import { formatMac, type Mac } from "../../../../src/api/mac.ts";
import { SEEN_ELSEWHERE_ADVICE } from "../../../../src/api/seen-elsewhere.ts";
import type { KubeObject } from "../../../../src/kube/client/resource.ts";
import { EVERYTHING } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import { claimOf, FIRST, InspectionFixture, instanceOf, owner, vmOf } from "../inspection-fixture.ts";

const macsFrom = (first: number, count: number): Mac[] =>
  Array.from({ length: count }, (_, index) => (FIRST + first + index) as Mac);

it("lists some parties of a collision, and says how many it does not list", async () => {
  const instances = Array.from({ length: 130 }, (_, index) =>
    instanceOf(vmOf("default", `vm-${index}`, macsFrom(0, 1)), "n"),
  );
  await using fixture = await InspectionFixture.start({ instances });
  const { items } = fixture.inspector.collisionsIn(undefined, EVERYTHING);
  expect(items.map(({ parties }) => parties.length)).toEqual([100]);
  expect(items[0]?.advice).toMatch(/ 30 more parties are not listed\.$/);
});

it("is a finding too, once, whether its claim has all parties or none", async () => {
  const instances = ["one", "two"].map((name) => instanceOf(vmOf("default", name, macsFrom(0, 1)), "n"));
  await using fixture = await InspectionFixture.start({ instances });
  const { findings } = await fixture.inspector.consistency(undefined, EVERYTHING);
  expect(findings.filter(({ code }) => code === "SHARED_ADDRESS")).toMatchObject([
    { mac: formatMac(FIRST), owner: { name: "one" }, message: `2 running objects have ${formatMac(FIRST)}.` },
  ]);
  const claims = [claimOf(FIRST, [owner("default", "one"), owner("default", "two")])];
  await using claimed = await InspectionFixture.start({ instances, claims });
  const told = (await claimed.inspector.consistency(undefined, EVERYTHING)).findings;
  expect(told.filter(({ code }) => code === "SHARED_ADDRESS")).toHaveLength(1);
});

it("lists some collisions, and counts all", async () => {
  const instances = Array.from({ length: 120 }, (_, index) =>
    instanceOf(vmOf("default", `vm-${index}`, macsFrom(Math.floor(index / 2) * 20, 20)), "n"),
  );
  await using fixture = await InspectionFixture.start({ instances });
  const { items, total } = fixture.inspector.collisionsIn(undefined, EVERYTHING);
  expect([items.length, total]).toEqual([1_000, 1_200]);
  expect(items.every(({ parties }) => parties.length === 2)).toBe(true);
});

describe("an address that a station outside the cluster has too", () => {
  const flap = "2026-01-02T12:00:00Z";
  const place = { bridge: "br1", uplink: "eno2", vlan: 100, lastSeen: flap, lastFlap: flap };
  const reportOf = (name: string, ...macs: Mac[]) => ({
    metadata: { name, uid: name, ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid: name }] },
    addresses: [],
    stations: macs.map((mac) => ({ mac: formatMac(mac), ...place })),
  });
  const web = instanceOf(vmOf("shop", "web", macsFrom(0, 1)), "node-a");
  const found = { node: "node-a", ...place };
  const namespaces = { shop: {}, lab: {} };

  it("is a collision of the object with the station, where the object runs", async () => {
    const nodeMacs = [reportOf("node-a", ...macsFrom(0, 2)), reportOf("node-b", FIRST)];
    await using fixture = await InspectionFixture.start({ namespaces, instances: [web], nodeMacs });
    const { items, total } = fixture.inspector.collisionsIn(undefined, EVERYTHING);
    expect([items, total]).toEqual([
      [
        {
          mac: formatMac(FIRST),
          parties: [
            {
              kind: "VirtualMachineInstance",
              namespace: "shop",
              name: "web",
              interface: "a",
              network: "multus br1-net",
              node: "node-a",
            },
          ],
          stations: [found],
          elsewhere: 0,
          advice: SEEN_ELSEWHERE_ADVICE,
        },
      ],
      1,
    ]);
    expect(fixture.inspector.status(0).collisions).toBe(1);
  });

  it("is one no more when the node says so no more", async () => {
    await using fixture = await InspectionFixture.start({
      namespaces,
      instances: [web],
      nodeMacs: [reportOf("node-a", FIRST)],
    });
    const { metadata, addresses } = reportOf("node-a");
    await fixture.objects.tell("MODIFIED", "nodemacs", { metadata, addresses } as KubeObject);
    expect(fixture.inspector.status(0).collisions).toBe(0);
    expect(fixture.inspector.collisionsIn(undefined, EVERYTHING).items).toEqual([]);
  });

  it("is told to who sees the object that it disturbs, and to nobody else", async () => {
    const other = instanceOf(vmOf("lab", "db", macsFrom(1, 1)), "node-a");
    await using fixture = await InspectionFixture.start({
      namespaces,
      instances: [web, other],
      nodeMacs: [reportOf("node-a", FIRST)],
    });
    const seenBy = (namespace: string) => fixture.inspector.collisionsIn(namespace, { namespace }).items;
    expect(seenBy("shop")).toEqual([expect.objectContaining({ stations: [found], elsewhere: 0 })]);
    expect(seenBy("lab")).toEqual([]);
  });

  it("is none with a station while two objects of the cluster have it on two nodes", async () => {
    const other = instanceOf(vmOf("lab", "twin", macsFrom(0, 1)), "node-b");
    const nodeMacs = [reportOf("node-a", FIRST), reportOf("node-b", FIRST)];
    await using fixture = await InspectionFixture.start({ namespaces, instances: [web, other], nodeMacs });
    const { items } = fixture.inspector.collisionsIn(undefined, EVERYTHING);
    expect(items).toEqual([expect.not.objectContaining({ stations: expect.anything() })]);
  });

  it("is a finding, for who sees the object", async () => {
    await using fixture = await InspectionFixture.start({
      namespaces,
      instances: [web],
      nodeMacs: [reportOf("node-a", FIRST)],
    });
    const findings = async (namespace: string) =>
      (await fixture.inspector.consistency(namespace, { namespace })).findings.filter(
        ({ code }) => code === "SEEN_ELSEWHERE",
      );
    expect(await findings("shop")).toEqual([
      {
        code: "SEEN_ELSEWHERE",
        mac: formatMac(FIRST),
        owner: { kind: "VirtualMachineInstance", namespace: "shop", name: "web" },
        message: expect.stringMatching(/VLAN 100 of uplink eno2 of bridge br1 on node node-a/),
        advice: SEEN_ELSEWHERE_ADVICE,
      },
    ]);
    expect(await findings("lab")).toEqual([]);
  });
});

describe("addresses that the same objects share", () => {
  const shared = async (fixture: InspectionFixture, namespace?: string) => {
    const scope = namespace === undefined ? EVERYTHING : { namespace };
    const { findings, total } = await fixture.inspector.consistency(namespace, scope);
    const found = findings.filter(({ code }) => code === "SHARED_ADDRESS");
    expect(total).toBe(findings.length);
    return found.map(({ mac, owner, message }) => [mac, owner?.name, message]);
  };
  const [first, second, third] = macsFrom(0, 3).map(formatMac);

  it("are one finding, and those of others another", async () => {
    const instances = [
      ...["one", "two"].map((name) => instanceOf(vmOf("default", name, macsFrom(0, 32)), "n")),
      ...["three", "four"].map((name) => instanceOf(vmOf("default", name, macsFrom(40, 1)), "n")),
    ];
    await using fixture = await InspectionFixture.start({ instances });
    const [other] = macsFrom(40, 1).map(formatMac);
    expect(await shared(fixture)).toEqual([
      [first, "one", `The same 2 running objects have 32 addresses: ${first}, ${second}, ${third} and 29 more.`],
      [other, "three", `2 running objects have ${other}.`],
    ]);
    expect(fixture.inspector.status(0).collisions).toBe(33);
  });

  it("are one finding by their claims, too", async () => {
    const machines = ["one", "two"].map((name) => vmOf("default", name, macsFrom(0, 2)));
    const claims = macsFrom(0, 2).map((mac) => claimOf(mac, [owner("default", "one"), owner("default", "two")]));
    await using fixture = await InspectionFixture.start({ machines, claims });
    expect(await shared(fixture)).toEqual([
      [first, "one", `The same 2 objects have 2 addresses: ${first}, ${second}.`],
    ]);
  });

  it("name nobody whom the reader may not see", async () => {
    const instances = ["lab", "shop"].map((namespace) => instanceOf(vmOf(namespace, "web", macsFrom(0, 2)), "n"));
    await using fixture = await InspectionFixture.start({ namespaces: { lab: {}, shop: {} }, instances });
    expect(await shared(fixture, "lab")).toEqual([
      [first, "web", `The same 2 running objects have 2 addresses: ${first}, ${second}.`],
    ]);
  });
});
