import { describe, expect, it } from "vitest";
import { formatMac, type Mac } from "../../../../src/api/mac.ts";
import type { ClaimOwner } from "../../../../src/api/mac-claim.ts";
import { EVERYTHING } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import { claimOf, FIRST, InspectionFixture, owner, vmOf } from "../inspection-fixture.ts";

const MAC = FIRST as Mac;
const REF = { kind: "VirtualMachine", namespace: "mine", name: "web" } as const;

describe("what a VM's history says of an address that was given back", () => {
  const { uid: _, ...unidentified } = owner("mine", "web");
  it.each<[string, ClaimOwner, string]>([
    ["of another UID", owner("mine", "web", { uid: "before" }), " (the former VirtualMachine of this name)"],
    [
      "from long before the VM was created",
      { ...unidentified, since: "2025-12-31T00:00:00.000Z" },
      " (the former VirtualMachine of this name)",
    ],
    ["of its own UID", owner("mine", "web", { since: "2025-12-31T00:00:00.000Z" }), ""],
    ["from the admission of the VM", { ...unidentified, since: "2025-12-31T23:59:59.000Z" }, ""],
  ])("by an owner %s", async (_what, holder, former) => {
    const claims = [claimOf(MAC, [holder], { phase: "Bound" })];
    const machines = [vmOf("mine", "web", [])];
    await using fixture = await InspectionFixture.start({ pools: {}, namespaces: { mine: {} }, claims, machines });
    await fixture.objects.tell("DELETED", "macclaims", claimOf(MAC, [holder], { phase: "Bound" }));
    const found = await fixture.inspector.owner(REF, EVERYTHING);
    const said = found.history.flatMap(({ what, message }) => (what === "released" ? [message] : []));
    expect(said).toEqual([`gave ${formatMac(MAC)} back${former}`]);
  });
});
