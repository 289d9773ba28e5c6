import { expect, it } from "vitest";
import { formatMac, type Mac } from "../../../../src/api/mac.ts";
import { VM_WEBHOOK } from "../../../../src/api/names.ts";
import { EVERYTHING } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import type * as views from "../../../../src/mac-pool/inspection/rest/views.ts";
import { claimOf, FIRST, InspectionFixture, owner, vmOf } from "../inspection-fixture.ts";

const RANGE = { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }] };
const mac = (offset: number): Mac => (FIRST + offset) as Mac;
const MINE = { namespace: "mine" };

it("is found once for each object, and named to whoever may see it", async () => {
  const pools = {
    default: { ...RANGE, explicitAddresses: "OwnPool" as const, maxAddressesPerNamespace: 1 },
    theirs: { ranges: [{ start: formatMac(mac(0x1000)), end: formatMac(mac(0x1007)) }] },
  };
  const theirs = Array.from({ length: 3 }, (_, number) => mac(0x1000 + number));
  const [foreign = 0 as Mac] = theirs;
  await using fixture = await InspectionFixture.start({
    pools,
    namespaces: { mine: {}, wild: { [VM_WEBHOOK]: "ignore" } },
    claims: [claimOf(foreign, [owner("mine", "web")]), claimOf(mac(1), [owner("wild", "kept")])],
    machines: [
      vmOf("mine", "web", [foreign]),
      vmOf("wild", "kept", [mac(1)]),
      vmOf("wild", "hog", [mac(2), ...theirs]),
    ],
  });
  const listed = (found: readonly views.FindingView[]) =>
    found.filter(({ code }) => !["ADOPTION_RUNS", "CLAIM_WAITS"].includes(code));
  const { findings } = await fixture.inspector.consistency(undefined, EVERYTHING);
  expect(listed(findings)).toMatchObject([
    {
      code: "LISTED_WITHOUT_CLAIM",
      owner: { kind: "VirtualMachine", namespace: "wild", name: "hog" },
      message: `VirtualMachine wild/hog lists ${formatMac(mac(2))} and 3 more, and no claim says that it has them.`,
    },
  ]);
  expect(listed((await fixture.inspector.consistency(undefined, MINE)).findings)).toEqual([]);
  const { listedBy, holders } = fixture.inspector.check(formatMac(theirs[1] ?? foreign), "mine", EVERYTHING);
  expect(listedBy).toMatchObject([{ kind: "VirtualMachine", namespace: "wild", name: "hog" }]);
  expect(holders).toEqual([]);
  expect(fixture.inspector.check(formatMac(foreign), "mine", MINE)).not.toHaveProperty("listedBy");
});
