import { expect, it } from "vitest";
import type { Mac } from "../../../../src/api/mac.ts";
import { EVERYTHING, type Scope } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import type { ClaimView, ListView } from "../../../../src/mac-pool/inspection/rest/views.ts";
import { claimOf, FIRST, InspectionFixture, owner, pageOf } from "../inspection-fixture.ts";
import { nadOf, rawNad } from "../networks.ts";
import { RestFixture } from "../rest/rest-fixture.ts";

const MINE: Scope = { namespace: "mine" };
const mac = (offset: number): Mac => (FIRST + offset) as Mac;

it("finds claims by the network of an owner that the reader may see", async () => {
  const claims = [
    claimOf(mac(0xab), [owner("mine", "web", { network: "multus blue" })]),
    claimOf(mac(0xac), [owner("other", "db", { network: "multus mine/blue" })]),
    claimOf(mac(0xad), [owner("mine", "db"), owner("other", "db", { network: "multus other/red" })]),
    claimOf(mac(0xae), [owner("mine", "pod", { network: "pod" })]),
  ];
  await using fixture = await InspectionFixture.start({ namespaces: { mine: {}, other: {} }, claims });
  const found = (network: string, scope: Scope): readonly string[] =>
    pageOf(fixture.inspector, { limit: 10, network }, scope).items.map(({ mac: text }) => text.slice(-2));
  expect(found("mine/blue", EVERYTHING)).toEqual(["ab", "ac"]);
  expect(found("other/red", EVERYTHING)).toEqual(["ad"]);
  expect(found("mine/blue", MINE)).toEqual(["ab"]);
  expect(found("other/red", MINE)).toEqual([]);
});

it("tell the bridge and the VLANs of an owner's network that the reader may see", async () => {
  const on = (offset: number, network?: string) =>
    claimOf(mac(offset), [owner("mine", "web", network === undefined ? {} : { network })]);
  await using fixture = await InspectionFixture.start({
    namespaces: { mine: {}, other: {} },
    claims: [
      on(1, "multus blue"),
      on(2, "multus other/red"),
      on(3, "multus mine/trunk"),
      on(4, "multus ovs"),
      on(5, "multus gone"),
      on(6, "pod"),
      on(7),
    ],
    nads: [
      nadOf("mine", "blue", { config: { vlan: 100 } }),
      nadOf("other", "red", { bridge: "br2" }),
      nadOf("mine", "trunk", { config: { vlanTrunk: [{ minID: 100, maxID: 110 }, { id: 200 }] } }),
      rawNad("mine", "ovs", JSON.stringify({ type: "ovs", bridge: "br1" })),
    ],
  });
  const { inspector, caches } = fixture;
  await inspector.networks.readKnown();
  await caches.networks.whenSynced(AbortSignal.timeout(5_000));
  await inspector.networks.readKnown();
  const told = (scope: Scope): string[] =>
    pageOf(inspector, { limit: 10 }, scope).items.map(({ owners: [{ bridge, vlan, trunk } = {}] }) =>
      [bridge, vlan, trunk].join(" "),
    );
  const nothing = "  ";
  const rest = [nothing, nothing, nothing, nothing];
  expect(told(EVERYTHING)).toEqual(["br1 100 ", "br2  ", "br1  100-110,200", ...rest]);
  expect(told(MINE)).toEqual(["br1 100 ", nothing, "br1  100-110,200", ...rest]);
  expect(inspector.claim("02:5d:1c:00:00:01", MINE).owners).toMatchObject([{ bridge: "br1", vlan: 100 }]);
});

it("change the answer when the network changes", async () => {
  await using fixture = await RestFixture.start({
    namespaces: { mine: {} },
    claims: [claimOf(FIRST, [owner("mine", "web", { network: "multus blue" })])],
    nads: [nadOf("mine", "blue", { config: { vlan: 100 } })],
  });
  fixture.rights.set("viewer", "cluster");
  const vlan = async (): Promise<unknown> => {
    const { body } = await fixture.get("/api/v1/claims", "viewer");
    return (body as ListView<ClaimView>).items[0]?.owners[0]?.vlan;
  };
  await expect.poll(vlan).toBe(100);
  const { headers } = await fixture.get("/api/v1/claims", "viewer");
  const changed = nadOf("mine", "blue", { config: { vlan: 7 } });
  await fixture.inspection.objects.tell("MODIFIED", "network-attachment-definitions", changed);
  expect((await fixture.get("/api/v1/claims", "viewer")).headers.etag).not.toBe(headers.etag);
  expect(await vlan()).toBe(7);
});
