import { describe, expect, it } from "vitest";
import { atLeastRow, formatTable, limitedRow, mayBeNone, measuresNothing, missingOf, row } from "./bench.ts";
import { readRequestCounts, requestsOfEach, requestsText, total } from "./request-counts.ts";

describe("a benchmark", () => {
  it("that measures nothing says so, whatever its goal", () => {
    const rows = [
      row("ours", "MB", 0, 5, 0.9),
      row("peer", "ms", 5, 0, null),
      limitedRow("under a limit", "kB", 0, null, 60),
      row("no number", "requests", Number.NaN, null, null),
    ];
    expect(rows.filter(({ ok }) => ok).map(({ what }) => what)).toContain("under a limit");
    expect(rows.filter(measuresNothing)).toEqual(rows);
  });

  it("may find that nothing happens", () => {
    const rows = [limitedRow("idle", "requests", 0, null, 0), mayBeNone(limitedRow("idle", "ms", 0, null, 1))];
    expect(rows.filter(measuresNothing)).toEqual([]);
    expect(measuresNothing(row("both", "ms", 4, 5, 1))).toBe(false);
  });

  it("shows the peer of a row of which more is better, and judges by the least", () => {
    const rows = [atLeastRow("enough", "ops/s", 40, 35, 100), atLeastRow("too few", "ops/s", 30, 35, 100)];
    expect(rows.map(({ ok }) => ok)).toEqual([true, false]);
    expect(formatTable(rows)).toMatch(/40\.00 ops\/s +100\.00 ops\/s +0\.40 x +>= 35\.00 ops\/s +met/);
    expect(measuresNothing(atLeastRow("no peer", "ops/s", 40, 0, 0))).toBe(true);
  });

  it("names what is missing on the machine, and takes any program that will do", () => {
    const need = { purpose: "to look", debianPackage: "eyes" };
    const env = { PATH: "/usr/bin" };
    expect(missingOf([{ ...need, programs: ["no-such-eye", "sh"] }], env)).toEqual([]);
    expect(missingOf([{ ...need, programs: ["no-such-eye"] }], env)).toEqual([
      "no-such-eye not found, needed to look: install the package eyes (Debian: apt-get install eyes).",
    ]);
  });
});

describe("the requests of a benchmark", () => {
  const line = (labels: string, count: number): string => `apiserver_request_total{code="200",${labels}} ${count}\n`;
  const metrics = (times: number): string =>
    [
      "# TYPE apiserver_request_total counter\n",
      line('group="kubevirt.io",resource="virtualmachines",subresource="",verb="POST"', 10 * times),
      line('group="network.kubevirt.io",resource="macclaims",subresource="",verb="POST"', 20 * times),
      line('dry_run="All",resource="macclaims",subresource="",verb="POST"', times),
      line('resource="macpools",subresource="status",verb="PATCH"', times),
      line('resource="leases",subresource="",verb="PUT"', 100 * times),
      line('resource="macclaims",subresource="",verb="WATCH"', 100 * times),
      line('resource="",subresource="/metrics",verb="GET"', 100 * times),
      'apiserver_request_duration_seconds_count{resource="macclaims",subresource="",verb="POST"} 900\n',
    ].join("");

  it("are counted by verb and resource, without watches, leader election and what the objects are created by", () => {
    const counts = readRequestCounts(metrics(1));
    const each = requestsOfEach(counts, readRequestCounts(metrics(3)), { objects: 20, own: "POST virtualmachines" });
    expect(requestsText(each)).toBe("2.10 POST macclaims, 0.10 PATCH macpools/status");
    expect(total(each)).toBeCloseTo(2.1);
  });

  it("may be none", () => {
    const counts = readRequestCounts(metrics(1));
    const each = requestsOfEach(counts, counts, { objects: 20, own: "POST virtualmachines" });
    expect(requestsText(each)).toBe("no requests");
    expect(total(each)).toBe(0);
  });
});
