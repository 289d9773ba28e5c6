import { describe, expect, it } from "vitest";
import { formatMac, type Mac } from "../../../../src/api/mac.ts";
import type { MacPoolSpec } from "../../../../src/api/mac-pool.ts";
import { EVERYTHING } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import * as views from "../../../../src/mac-pool/inspection/rest/views.ts";
import { claimOf, FIRST, InspectionFixture, nodeMacsOf, owner, vmOf } from "../inspection-fixture.ts";

const MINE = { namespace: "mine" };
const mac = (offset: number): Mac => (FIRST + offset) as Mac;
const HELD = formatMac(mac(9));
const VM = { kind: "VirtualMachine", namespace: "mine", name: "web" } as const;

function start(policy: Pick<MacPoolSpec, "hostAddressPolicy"> = {}): Promise<InspectionFixture> {
  return InspectionFixture.start({
    pools: { default: { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }], ...policy } },
    adopted: { status: "True", message: "" },
    namespaces: { mine: {}, other: {} },
    claims: [claimOf(mac(9), [owner("mine", "web")]), claimOf(mac(8), [], { phase: "Quarantined" })],
    machines: [vmOf("mine", "web", [mac(9)])],
    nodeMacs: [nodeMacsOf("node-a", [mac(9), mac(8), mac(7)])],
  });
}

describe("an address that an object and a node have", () => {
  it("is told with the claim, with the interface of its owner, and as a finding", async () => {
    await using fixture = await start();
    const host = { hostAddress: "interface eth0 of node node-a" };
    expect(views.claimViewSchema.parse(fixture.inspector.claim(HELD, EVERYTHING))).toMatchObject(host);
    const owner = views.ownerHistoryViewSchema.parse(await fixture.inspector.owner(VM, EVERYTHING));
    expect(owner.interfaces).toMatchObject([{ mac: HELD, ...host }]);
    expect(fixture.inspector.pool("default", true)).toMatchObject({ hostConflicts: 1, hostAddressPolicy: "Warn" });
    const { findings } = views.consistencyViewSchema.parse(await fixture.inspector.consistency(undefined, EVERYTHING));
    expect(findings).toEqual([
      {
        code: "HOST_CONFLICT",
        mac: HELD,
        owner: VM,
        message: `${HELD} is also the address of interface eth0 of node node-a.`,
        advice: "They disturb each other on the same network. Give one of them another address.",
      },
    ]);
  });

  it("is told without the node's name to whoever may see one namespace, and to nobody else", async () => {
    await using fixture = await start();
    const told = JSON.stringify([
      fixture.inspector.claim(HELD, MINE),
      await fixture.inspector.owner(VM, MINE),
      (await fixture.inspector.consistency(undefined, MINE)).findings,
    ]);
    expect(told.match(/an interface of a node/g)).toHaveLength(3);
    expect(told).not.toMatch(/eth0|node-a/);
    expect((await fixture.inspector.consistency(undefined, { namespace: "other" })).findings).toEqual([]);
  });

  it("is no finding where the pool's policy says that it may be", async () => {
    await using fixture = await start({ hostAddressPolicy: "Off" });
    expect((await fixture.inspector.consistency(undefined, EVERYTHING)).findings).toEqual([]);
    expect(fixture.inspector.pool("default", true)).toMatchObject({ hostConflicts: 1, hostAddressPolicy: "Off" });
  });
});
