import { expect, it } from "vitest";
import type { Mac } from "../../../../src/api/mac.ts";
import { EVERYTHING, type Scope } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import { claimOf, FIRST, InspectionFixture, owner, pageOf } from "../inspection-fixture.ts";

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
