import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatMac, type Mac } from "../../../../src/api/mac.ts";
import { CLAIM_ORIGINS, type MACClaim, SHOWN_PHASES, type ShownPhase } from "../../../../src/api/mac-claim.ts";
import type { ClaimFilter } from "../../../../src/mac-pool/inspection/queries/claim-filter.ts";
import { EVERYTHING, type Scope } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import type { ClaimView, MapView, WatchEventView } from "../../../../src/mac-pool/inspection/rest/views.ts";
import { share } from "../../../support/share.ts";
import {
  claimOf,
  FIRST,
  InspectionFixture,
  nodeMacsOf,
  owner,
  pageOf,
  readAnswer,
  vmOf,
} from "../inspection-fixture.ts";

const SPREAD = 48;
const RANGES = [
  { start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:0f" },
  { start: "02:5d:1c:00:00:14", end: "02:5d:1c:00:00:25" },
];
const NAMESPACES = ["mine", "other"];

const claimStep = fc.record({
  kind: fc.constant("claim" as const),
  offset: fc.integer({ min: 0, max: SPREAD - 1 }),
  isGone: fc.boolean(),
  phase: fc.constantFrom("Allocated", "Quarantined", "Pending", "Bound"),
  origin: fc.constantFrom(...CLAIM_ORIGINS),
  namespaces: fc.uniqueArray(fc.constantFrom(...NAMESPACES), { minLength: 1, maxLength: 2 }),
});

const machineStep = fc.record({
  kind: fc.constant("machine" as const),
  offset: fc.integer({ min: 0, max: SPREAD - 1 }),
  isGone: fc.boolean(),
});

const nodeStep = fc.record({
  kind: fc.constant("node" as const),
  node: fc.constantFrom("node-a", "node-b"),
  offsets: fc.uniqueArray(fc.nat(SPREAD - 1), { maxLength: 4 }),
});

const step = fc.oneof(
  { weight: 5, arbitrary: claimStep },
  { weight: 3, arbitrary: machineStep },
  { weight: 1, arbitrary: nodeStep },
);

describe("after a random history of claims", () => {
  it("pages, counts and maps say what the claims say, for every reader", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 40 }), async (steps, cells) => {
        await using fixture = await InspectionFixture.start({ pools: { default: { ranges: RANGES } } });
        const claims = new Map<number, MACClaim>();
        const machines = new Set<number>();
        const pending = new Set<number>();
        const nodes = new Map<string, readonly number[]>();
        const start = fixture.inspector.tagFor(EVERYTHING);
        for (const change of steps) {
          if (change.kind === "node") {
            const report = nodeMacsOf(
              change.node,
              change.offsets.map((offset) => (FIRST + offset) as Mac),
            );
            await fixture.objects.tell(nodes.has(change.node) ? "MODIFIED" : "ADDED", "nodemacs", report);
            nodes.set(change.node, change.offsets);
            continue;
          }
          if (change.kind === "machine") {
            const { offset, isGone } = change;
            if (isGone !== machines.has(offset)) continue;
            if (isGone) machines.delete(offset);
            else machines.add(offset);
            if (!isGone) pending.delete(offset);
            const vm = vmOf("mine", `vm-${offset}`, [(FIRST + offset) as Mac]);
            await fixture.objects.tell(isGone ? "DELETED" : "ADDED", "virtualmachines", vm);
            continue;
          }
          const { offset, isGone, phase, origin, namespaces } = change;
          const owners = phase === "Quarantined" ? [] : namespaces.map((namespace) => owner(namespace, `vm-${offset}`));
          const claim = claimOf((FIRST + offset) as Mac, owners, { phase, origin });
          const before = claims.get(offset);
          const isNew = before === undefined || before.status?.phase === "Quarantined";
          if (isGone || phase === "Quarantined") pending.delete(offset);
          else if (isNew && !machines.has(offset)) pending.add(offset);
          if (isGone && before !== undefined) {
            claims.delete(offset);
            await fixture.objects.tell("DELETED", "macclaims", before);
          } else if (!isGone) {
            claims.set(offset, claim);
            await fixture.objects.tell(before === undefined ? "ADDED" : "MODIFIED", "macclaims", claim);
          }
        }
        const sorted = [...claims].sort(([one], [other]) => one - other).map(([, claim]) => claim);
        const waiting = new Set([...pending].map((offset) => formatMac((FIRST + offset) as Mac)));
        const phaseOf = ({ spec, status }: MACClaim): ShownPhase =>
          status?.phase === "Quarantined" ? "Quarantined" : waiting.has(spec.mac) ? "Pending" : "Bound";
        const macsOf = (all: readonly MACClaim[]): string[] => all.map(({ spec }) => spec.mac);
        expect(paged(fixture, EVERYTHING)).toEqual(macsOf(sorted));
        for (const phase of SHOWN_PHASES) {
          const wanted = sorted.filter((claim) => phaseOf(claim) === phase);
          expect(paged(fixture, EVERYTHING, { phase })).toEqual(macsOf(wanted));
          expect(watched(fixture, start, { phase })).toEqual(macsOf(wanted));
          const mine = wanted.filter((claim) => claim.status?.owners.some((each) => each.namespace === "mine"));
          expect(paged(fixture, { namespace: "mine" }, { phase })).toEqual(macsOf(mine));
        }
        for (const namespace of NAMESPACES) {
          const own = sorted.filter((claim) => claim.status?.owners.some((each) => each.namespace === namespace));
          expect(paged(fixture, { namespace })).toEqual(macsOf(own));
        }
        const map = readAnswer<MapView>(fixture.inspector.map("default", { cells }, true));
        const inRange = sorted.filter(({ spec }) => map.cells.some((cell) => isIn(spec.mac, cell)));
        const sum = (
          field: "pending" | "bound" | "quarantined" | "explicit" | "size" | "free" | "hostAddresses",
        ): number => map.cells.reduce((total, cell) => total + (cell[field] ?? 0), 0);
        const phases = inRange.filter(({ spec }) => isInRanges(spec.mac)).map(phaseOf);
        expect([sum("pending"), sum("bound"), sum("quarantined")]).toEqual(
          ["Pending", "Bound", "Quarantined"].map((phase) => phases.filter((each) => each === phase).length),
        );
        expect(sum("size")).toBe(34);
        const ofNodes = new Set([...nodes.values()].flat().map((offset) => formatMac((FIRST + offset) as Mac)));
        const excluded = [...ofNodes].filter((mac) => isInRanges(mac) && !macsOf(sorted).includes(mac));
        expect(sum("hostAddresses")).toBe(excluded.length);
        expect(sum("free")).toBe(34 - phases.length - excluded.length);
        for (const cell of map.cells) {
          expect(cell.hostAddresses).toBe(excluded.filter((mac) => isIn(mac, cell)).length);
          const { size, free, pending, bound, quarantined, hostAddresses = 0 } = cell;
          expect(free + pending + bound + quarantined + hostAddresses).toBe(size);
        }
        const pool = fixture.inspector.pool("default", true);
        expect([pool.free, pool.hostAddresses]).toEqual([sum("free"), excluded.length]);
        for (const range of pool.ranges) {
          expect(range.hostAddresses).toBe(excluded.filter((mac) => isIn(mac, range)).length);
          expect(range.free + range.used + (range.hostAddresses ?? 0)).toBe(range.capacity);
        }
        expect(map.cells.length).toBeLessThanOrEqual(cells);
        const outside = pageOf(fixture.inspector, { limit: SPREAD, outOfRange: "default" }, EVERYTHING);
        expect(outside.total).toBe(map.outOfRange);
        expect(outside.items.filter(({ inRange, phase }) => inRange || phase === "Quarantined")).toEqual([]);
        expect(pageOf(fixture.inspector, { limit: SPREAD, outOfRange: "other" }, EVERYTHING).total).toBe(0);
        expect(map.outOfRange).toBe(
          sorted.filter(({ spec, status }) => !isInRanges(spec.mac) && status?.phase !== "Quarantined").length,
        );
      }),
      { numRuns: share(60) },
    );
  });
});

function paged(fixture: InspectionFixture, scope: Scope, filter: ClaimFilter = {}): string[] {
  const macs: string[] = [];
  for (let token: string | undefined; ; ) {
    const page = pageOf(
      fixture.inspector,
      { ...filter, limit: 3, ...(token === undefined ? {} : { continue: token }) },
      scope,
    );
    macs.push(...page.items.map(({ mac }) => mac));
    token = page.continue;
    if (token !== undefined) continue;
    expect(page.total).toBe(macs.length);
    return macs;
  }
}

/** What is left to somebody who has watched from the beginning, where nothing was. Fails for an event that does not fit the others. */
function watched(fixture: InspectionFixture, lastId: string, filter: ClaimFilter): string[] {
  const known = new Set<string>();
  const write = (text: string): boolean => {
    for (const [, data = ""] of text.matchAll(/^data: (.*)$/gm)) {
      const { type, object } = JSON.parse(data) as WatchEventView<ClaimView>;
      if (object === undefined) continue;
      expect([type === "ADDED", object.phase]).toEqual([!known.has(object.mac), filter.phase]);
      if (type === "DELETED") known.delete(object.mac);
      else known.add(object.mac);
    }
    return true;
  };
  const sink = { write, drained: async () => {}, end: () => {} };
  fixture.inspector.feeds.claims(filter, EVERYTHING, { lastId }, sink)();
  return [...known].sort();
}

const isIn = (mac: string, { first, last }: { readonly first: string; readonly last: string }): boolean =>
  first <= mac && mac <= last;

const isInRanges = (mac: string): boolean => RANGES.some(({ start, end }) => start <= mac && mac <= end);

describe("a map", () => {
  it("can be looked at down to single addresses", async () => {
    await using fixture = await InspectionFixture.start({
      pools: { default: { ranges: RANGES } },
      claims: [claimOf((FIRST + 2) as Mac, [owner("mine", "web")])],
      machines: [vmOf("mine", "web", [(FIRST + 2) as Mac])],
    });
    const [from, to] = [formatMac((FIRST + 1) as Mac), formatMac((FIRST + 3) as Mac)];
    const { cells } = readAnswer<MapView>(fixture.inspector.map("default", { cells: 4_096, from, to }, true));
    expect(cells.map(({ first, last, bound }) => [first === last, bound])).toEqual([
      [true, 0],
      [true, 1],
      [true, 0],
    ]);
  });

  it("is another answer when a node has an address of it, or no longer", async () => {
    await using fixture = await InspectionFixture.start({ pools: { default: { ranges: RANGES } } });
    const tags = [fixture.inspector.tagFor(EVERYTHING)];
    const report = nodeMacsOf("node-a", [FIRST]);
    for (const type of ["ADDED", "DELETED"] as const) {
      await fixture.objects.tell(type, "nodemacs", report);
      tags.push(fixture.inspector.tagFor(EVERYTHING));
    }
    expect(new Set(tags).size).toBe(3);
  });
});
