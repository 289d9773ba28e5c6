import { expect, it } from "vitest";
import { formatMac, type Mac, parseMac } from "../../../../src/api/mac.ts";
import { EVERYTHING } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import { claimOf, FIRST, InspectionFixture, owner } from "../inspection-fixture.ts";

const THEIRS = "06:00:00:00:00:01";

it("checks an address by hand in the words of the webhook, without the names of another tenant", async () => {
  await using fixture = await InspectionFixture.start({
    pools: {
      default: { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }], explicitAddresses: "OwnPool" },
      blue: {
        ranges: [{ start: "06:00:00:00:00:00", end: "06:00:00:00:00:0f" }],
        namespaceSelector: { matchLabels: { team: "blue" } },
      },
    },
    namespaces: { mine: {}, secret: { team: "blue" } },
    claims: [claimOf(parseMac(THEIRS) as Mac, [owner("secret", "vault")])],
  });
  const { inspector } = fixture;
  const refused = inspector.check(THEIRS, "mine", { namespace: "mine" });
  expect(refused).toMatchObject({
    accepted: false,
    code: "MACPOOL_EXPLICIT_ADDRESS",
    message:
      `MAC ${THEIRS} is outside the ranges of MACPool default, which serves namespace mine with explicitAddresses OwnPool. ` +
      "Leave macAddress out to get an address from the pool, or choose a free one of " +
      "02:5d:1c:00:00:00-02:5d:1c:00:00:ff.",
  });
  expect(JSON.stringify(refused)).not.toMatch(/secret|vault|blue|06:00:00:00:00:0f/);
  expect(inspector.check(formatMac(FIRST), "mine", EVERYTHING)).toMatchObject({ accepted: true });
  expect(inspector.check("06:00:00:00:00:02", "secret", EVERYTHING)).toMatchObject({ accepted: true });
  expect(inspector.pools().items.map(({ explicitAddresses }) => explicitAddresses)).toEqual(["Anywhere", "OwnPool"]);
});
