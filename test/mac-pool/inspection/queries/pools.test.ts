import { describe, expect, it } from "vitest";
import { type Mac, parseMac } from "../../../../src/api/mac.ts";
import { EVERYTHING } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import { claimOf, InspectionFixture, owner, pageOf } from "../inspection-fixture.ts";

const SPAN = { first: "aa:00:00:00:00:00", last: "fe:a8:11:22:33:44" };
const RANGE = { ranges: [{ start: SPAN.first, end: SPAN.last }] };
const HELD = parseMac("ac:00:00:00:00:07") as Mac;

describe("a range with multicast addresses inside", () => {
  it("is told as it was written, without them in its counts", async () => {
    await using fixture = await InspectionFixture.start({
      pools: { default: RANGE },
      claims: [claimOf(HELD, [owner("default", "web")])],
    });
    const { ranges, capacity } = fixture.inspector.pool("default", true);
    expect(ranges).toMatchObject([{ ...SPAN, capacity, used: 1, free: capacity - 1 }]);
    expect(capacity).toBe(42 * 2 ** 40 + 0xa8_11_22_33_45);
    expect(pageOf(fixture.inspector, { limit: 10 }, EVERYTHING).items).toMatchObject([
      { inRange: true, range: `${SPAN.first}-${SPAN.last}` },
    ]);
  });

  it("is named whole where a part of the pool has no address", async () => {
    await using fixture = await InspectionFixture.start({ pools: { default: RANGE } });
    const ask = () =>
      fixture.inspector.map("default", { cells: 4, from: "ab:00:00:00:00:00", to: "ab:00:00:00:00:ff" }, true);
    expect(ask).toThrow(`MACPool default has no address there. Its ranges: ${SPAN.first}-${SPAN.last}.`);
  });
});
