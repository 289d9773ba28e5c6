import { expect, it } from "vitest";
import { formatMac, type Mac, parseMac } from "../../../../src/api/mac.ts";
import type { ClaimOrigin } from "../../../../src/api/mac-claim.ts";
import type { ClaimFilter } from "../../../../src/mac-pool/inspection/queries/claim-filter.ts";
import { EVERYTHING } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import { claimOf, FIRST, InspectionFixture, owner, pageOf, vmOf } from "../inspection-fixture.ts";

const mac = (offset: number): Mac => (FIRST + offset) as Mac;
const [CAME, SECOND, THIRD] = ["2026-01-01T00:00:00.000Z", "2026-01-03T00:00:00.000Z", "2026-01-05T00:00:00.000Z"];
const OWNERS = [
  owner("mine", "web", { since: CAME }),
  owner("mine", "copy", { since: SECOND }),
  owner("other", "thief", { since: THIRD, kind: "Pod" }),
];
const RANGE = { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }] };

it("share it since the second of them came, not since it was claimed", async () => {
  await using fixture = await InspectionFixture.start({
    pools: { default: RANGE },
    namespaces: { mine: {}, other: {} },
    claims: [claimOf(mac(1), OWNERS)],
    machines: [vmOf("mine", "web", [mac(1)])],
  });
  const { findings } = await fixture.inspector.consistency(undefined, EVERYTHING);
  expect(findings.find(({ code }) => code === "SHARED_ADDRESS")).toMatchObject({
    mac: formatMac(mac(1)),
    since: SECOND,
  });
  const sharedAt = async (index: 0 | 1 | 2) => {
    const { kind, namespace, name = "" } = OWNERS[index] ?? {};
    const { history } = await fixture.inspector.owner(
      { kind: kind ?? "Pod", namespace: namespace ?? "", name },
      EVERYTHING,
    );
    return history.find(({ what }) => what === "shared")?.at;
  };
  expect([await sharedAt(0), await sharedAt(1), await sharedAt(2)]).toEqual([SECOND, SECOND, THIRD]);
});

it.each<[ClaimOrigin, (ClaimOrigin | undefined)[]]>([
  ["automatic", [undefined, "explicit", "explicit"]],
  ["explicit", [undefined, undefined, undefined]],
  ["observed", [undefined, undefined, undefined]],
])("of an %s claim: only the first was given the address", async (origin, expected) => {
  await using fixture = await InspectionFixture.start({
    pools: { default: RANGE },
    namespaces: { mine: {}, other: {} },
    claims: [claimOf(mac(1), OWNERS, { origin })],
  });
  const { owners } = fixture.inspector.claim(formatMac(mac(1)), EVERYTHING);
  expect(owners.map((each) => each.origin)).toEqual(expected);
  const copy = await fixture.inspector.owner({ kind: "VirtualMachine", namespace: "mine", name: "copy" }, EVERYTHING);
  expect(copy.interfaces).toMatchObject([{ origin: expected[1] ?? origin }]);
});

it("have it in the range of another pool than theirs, which only readers of pools are told", async () => {
  const theirs = "06:00:00:00:00:01";
  await using fixture = await InspectionFixture.start({
    pools: { default: RANGE, blue: { ranges: [{ start: "06:00:00:00:00:00", end: "06:00:00:00:00:0f" }] } },
    namespaces: { mine: {} },
    claims: [claimOf(mac(1), [owner("mine", "a")]), claimOf(parseMac(theirs) as Mac, [owner("mine", "b")])],
  });
  const rangeOf = (text: string, namespace?: string) => {
    const { pool, inRange, range, rangePool } = fixture.inspector.claim(text, { namespace });
    return [pool, inRange, range, rangePool];
  };
  expect(rangeOf(formatMac(mac(1)))).toEqual(["default", true, "02:5d:1c:00:00:00-02:5d:1c:00:00:ff", undefined]);
  expect(rangeOf(theirs)).toEqual(["default", true, "06:00:00:00:00:00-06:00:00:00:00:0f", "blue"]);
  expect(rangeOf(theirs, "mine")).toEqual(["default", true, undefined, undefined]);
});

it("are told a reader of one namespace as that namespace's own: nothing of the claim that is of another one's owner", async () => {
  const claim = claimOf(mac(1), [owner("other", "web", { since: CAME }), owner("mine", "copy", { since: SECOND })]);
  await using fixture = await InspectionFixture.start({
    pools: { default: RANGE },
    namespaces: { mine: {}, other: {} },
    claims: [claim, claimOf(mac(2), [owner("mine", "own", { since: THIRD })])],
  });
  const { inspector } = fixture;
  const scope = { namespace: "mine" };
  const shared = inspector.claim(formatMac(mac(1)), scope);
  expect(shared).toMatchObject({ origin: "explicit", created: SECOND, elsewhere: 1, owners: [{ name: "copy" }] });
  for (const ofAnother of ["pool", "range", "rangePool"]) expect(shared).not.toHaveProperty(ofAnother);
  expect(shared.owners[0]).not.toHaveProperty("origin");
  expect(inspector.claim(formatMac(mac(2)), scope)).toMatchObject({ pool: "default", origin: "automatic" });
  const found = (filter: ClaimFilter): string[] =>
    pageOf(inspector, { limit: 10, ...filter }, scope).items.map(({ mac: text }) => text.slice(-2));
  expect(found({ origin: "automatic" })).toEqual(["02"]);
  expect(found({ origin: "explicit" })).toEqual(["01"]);
  expect(found({ pool: "default" })).toEqual(["02"]);
});

it("are found by a part of namespace/name", async () => {
  await using fixture = await InspectionFixture.start({
    namespaces: { mine: {}, other: {} },
    claims: [claimOf(mac(1), [owner("mine", "web")]), claimOf(mac(2), [owner("other", "web")])],
  });
  const found = (search: string): string[] =>
    pageOf(fixture.inspector, { limit: 10, search }, EVERYTHING).items.map(({ mac: text }) => text.slice(-2));
  expect(found("ne/we")).toEqual(["01"]);
  expect(found("web")).toEqual(["01", "02"]);
  expect(found("other")).toEqual(["02"]);
  expect(found("mine web")).toEqual([]);
});
