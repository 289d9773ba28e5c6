import { expect, it } from "vitest";
import type { Mac } from "../../../../src/api/mac.ts";
import { EVERYTHING } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import { FIRST, InspectionFixture, instanceOf, vmOf } from "../inspection-fixture.ts";

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

it("lists some collisions, and counts all", async () => {
  const instances = Array.from({ length: 120 }, (_, index) =>
    instanceOf(vmOf("default", `vm-${index}`, macsFrom(Math.floor(index / 2) * 20, 20)), "n"),
  );
  await using fixture = await InspectionFixture.start({ instances });
  const { items, total } = fixture.inspector.collisionsIn(undefined, EVERYTHING);
  expect([items.length, total]).toEqual([1_000, 1_200]);
  expect(items.every(({ parties }) => parties.length === 2)).toBe(true);
});
