import { describe, expect, it } from "vitest";
import type { CollisionView, DenialView, FindingView } from "../../src/mac-pool/inspection/rest/views.ts";
import { isBad, problemsOf } from "../../src/web/problems/problem-list.ts";

const NOW = Date.parse("2026-01-02T12:00:00Z");
const MAC = "02:00:00:00:00:01";

const collision = (mac: string, more: Partial<CollisionView> = {}): CollisionView => ({
  ...{ mac, parties: [], elsewhere: 0, advice: "Stop one." },
  ...more,
});
const finding = (code: FindingView["code"], more: Partial<FindingView> = {}): FindingView => ({
  ...{ code, message: `It is ${code}.`, advice: "Do this." },
  ...more,
});
const denial = (name: string, more: Partial<DenialView> = {}): DenialView => ({
  ...{ id: `one-${name}`, at: "2026-01-02T11:00:00Z", first: "2026-01-02T11:00:00Z", count: 1, code: "MACPOOL_FULL" },
  ...{ namespace: "tenant-b", kind: "VirtualMachine", name, pool: "tenant-b", message: "the range is full" },
  ...{ dryRun: false, replica: "one" },
  ...more,
});

const told = (known: Partial<Parameters<typeof problemsOf>[0]>): string[] =>
  problemsOf({ collisions: [], denials: [], findings: [], ...known }, NOW).map((problem) => {
    if (problem.kind === "collision") return problem.collision.mac;
    return problem.kind === "finding" ? problem.finding.code : problem.denials.map(({ name }) => name).join(" ");
  });

describe("the list of problems", () => {
  it("begins with the worst", () => {
    const findings = [finding("CLAIM_WAITS"), finding("STATIONS_IN_RANGE"), finding("POOL_FULL")];
    const known = { collisions: [collision(MAC)], denials: [denial("web")], findings };
    expect(told(known)).toEqual([MAC, "POOL_FULL", "STATIONS_IN_RANGE", "web", "CLAIM_WAITS"]);
    expect(problemsOf(known, NOW).map(isBad)).toEqual([true, true, false, false, false]);
  });

  it("puts VMs that wait and faults of networks before refusals", () => {
    const codes = ["VM_WAITS_FOR_NODE", "NETWORK_FAULTY", "BRIDGE_FAULTY"] as const;
    expect(told({ denials: [denial("web")], findings: codes.map((code) => finding(code)) })).toEqual([...codes, "web"]);
  });

  it("has one entry of all objects that were refused for one reason", () => {
    const denials = [denial("web"), denial("db"), denial("other", { pool: "tenant-c" })];
    expect(told({ denials })).toEqual(["web db", "other"]);
  });

  it("leaves out dry runs, and refusals older than a day", () => {
    expect(
      told({ denials: [denial("asked", { dryRun: true }), denial("old", { at: "2026-01-01T11:59:59Z" })] }),
    ).toEqual([]);
  });

  it("tells of a collision once, though it is a finding too", () => {
    const findings = [finding("SHARED_ADDRESS", { mac: MAC }), finding("SEEN_ELSEWHERE", { mac: MAC })];
    expect(told({ collisions: [collision(MAC)], findings })).toEqual([MAC]);
    expect(told({ findings })).toEqual(["SHARED_ADDRESS", "SEEN_ELSEWHERE"]);
    expect(told({ collisions: [collision(MAC)], findings: [finding("CLAIM_WAITS", { mac: MAC })] })).toHaveLength(2);
  });

  it("has all that the tile of collisions counts before other problems, the real ones first", () => {
    const said = collision(MAC, { isSaid: true });
    const other = "02:00:00:00:00:02";
    const known = { collisions: [said, collision(other)], findings: [finding("POOL_FULL")] };
    expect(told(known)).toEqual([other, MAC, "POOL_FULL"]);
    expect(problemsOf({ collisions: [said], denials: [], findings: [] }, NOW).some(isBad)).toBe(false);
  });
});
