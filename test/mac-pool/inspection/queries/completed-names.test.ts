import { expect, it } from "vitest";
import { formatMac, type Mac } from "../../../../src/api/mac.ts";
import type { ClaimOwner } from "../../../../src/api/mac-claim.ts";
import { systemClock } from "../../../../src/kube/clock.ts";
import { withCompletedNames } from "../../../../src/mac-pool/inspection/queries/catalog.ts";
import { EVERYTHING } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import { claimOf, FIRST, InspectionFixture, owner, pageOf, SINCE, vmOf } from "../inspection-fixture.ts";

const prefixed = (generateName: string): ClaimOwner => ({
  ...{ kind: "VirtualMachine", namespace: "mine", generateName, interface: "a", since: SINCE },
});
const observed = (name: string) => ({ kind: "VirtualMachine", namespace: "mine", name }) as const;

it("gives each prefix the name of another object", () => {
  const claim = claimOf(FIRST, [owner("mine", "web-a"), prefixed("web-"), prefixed("web-"), prefixed("db-")]);
  const objectsListing = [
    observed("web-a"),
    observed("web-b"),
    observed("web-c"),
    { ...observed("db-x"), namespace: "other" },
  ];
  const { owners = [] } = withCompletedNames(claim, () => objectsListing).status ?? {};
  expect(owners.map(({ name, generateName }) => [name, generateName])).toEqual([
    ["web-a", undefined],
    ["web-b", undefined],
    ["web-c", undefined],
    [undefined, "db-"],
  ]);
});

it("shows and finds an owner by the name that the API server has made, and tells its history", async () => {
  const pools = { default: { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }] } };
  // All of it happens in one millisecond.
  const clock = { ...systemClock, now: () => Date.UTC(2026, 0, 2) };
  await using fixture = await InspectionFixture.start({ pools, namespaces: { mine: {} }, clock });
  const claim = claimOf(FIRST, [prefixed("web-")]);
  const found = (search: string) => pageOf(fixture.inspector, { limit: 10, search }, EVERYTHING).items;
  await fixture.objects.tell("ADDED", "macclaims", claim);
  expect(found("web-x7k2p")).toEqual([]);
  expect(found("web-")).toMatchObject([{ phase: "Pending", owners: [{ generateName: "web-" }] }]);
  const vm = vmOf("mine", "web-x7k2p", [FIRST as Mac]);
  await fixture.objects.tell("ADDED", "virtualmachines", vm);
  expect(found("web-x7k2p")).toMatchObject([{ phase: "Bound", owners: [{ name: "web-x7k2p" }] }]);
  expect(fixture.inspector.claim(formatMac(FIRST), EVERYTHING).owners).toMatchObject([{ name: "web-x7k2p" }]);
  const ref = { kind: "VirtualMachine", namespace: "mine", name: "web-x7k2p" } as const;
  const told = async () => (await fixture.inspector.owner(ref, EVERYTHING)).history.map(({ what }) => what);
  expect((await told()).sort()).toEqual(["allocated", "bound", "created"]);
  await fixture.objects.tell("DELETED", "virtualmachines", vm);
  await fixture.objects.tell("MODIFIED", "macclaims", claimOf(FIRST, [], { phase: "Quarantined" }));
  expect(await told()).toEqual(["released", "bound"]);
});
