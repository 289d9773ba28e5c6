import { describe, expect, it } from "vitest";
import { grafanaDashboard } from "../../../deploy/monitoring/grafana-dashboard.ts";
import { metricNames, metricsOf, OTHERS } from "../../operator/support/metric-names.ts";
import { RULE_GROUPS } from "../../operator/support/rules.ts";

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
}

const { panels, templating } = grafanaDashboard() as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
};
const targets = panels.flatMap((panel) => panel.targets ?? []);

/** A counter or gauge by its name, a histogram by those of its series. */
const names = metricNames().flatMap((name) => [name, `${name}_bucket`, `${name}_sum`, `${name}_count`]);
const recorded = RULE_GROUPS.flatMap(({ rules }) => rules.flatMap(({ record }) => record ?? []));

describe("the dashboard", () => {
  it("asks for metrics that exist", () => {
    const pools = templating.list.map(({ query }) => /label_values\((\w+),/.exec(query)?.[1] ?? "up");
    const asked = new Set([...targets.flatMap(({ expr }) => metricsOf(expr)), ...pools]);
    expect(asked.size).toBeGreaterThan(15);
    expect([...asked].filter((name) => ![...names, ...recorded, ...OTHERS].includes(name))).toEqual([]);
  });

  it("shows every metric of the MAC pool that tells an administrator something", () => {
    const shown = targets.flatMap(({ expr }) => metricsOf(expr)).join(" ");
    for (const name of ["capacity", "free", "claims", "allocations", "denials", "admission_duration", "leaks"]) {
      expect(shown).toContain(`kubevirt_macpool_${name}`);
    }
  });

  it("uses only variables that it defines", () => {
    const text = JSON.stringify(panels);
    const used = new Set([...text.matchAll(/\$(\w+)/g)].map(([, name]) => name ?? ""));
    expect([...used].filter((name) => !name.startsWith("__")).sort()).toEqual(
      templating.list.map(({ name }) => name).sort(),
    );
  });

  it("lays out panels side by side, each with a sentence about what it says", () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const meet = (a: Panel["gridPos"], b: Panel["gridPos"]): boolean =>
      a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
    const pairs = panels.flatMap((one, index) => panels.slice(index + 1).map((other) => [one, other] as const));
    expect(pairs.filter(([one, other]) => meet(one.gridPos, other.gridPos))).toEqual([]);
    for (const { type, description = "" } of panels) if (type !== "row") expect(description).toMatch(/\.$/);
  });
});
