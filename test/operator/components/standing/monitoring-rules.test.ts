import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NOTHING_DEPLOYED } from "../../../../src/operator/components/component.ts";
import { renderEverything } from "../../../../src/operator/components/registry.ts";
import { monitoring } from "../../../../src/operator/components/standing/monitoring.ts";
import { effectiveSpec } from "../../../../src/operator/config/effective-spec.ts";
import { DEFAULT_SETTINGS } from "../../../../src/operator/config/settings.ts";
import { EVERY_FACT } from "../../../../src/operator/watch/facts.ts";
import { metricNames, metricsOf, OTHERS } from "../../support/metric-names.ts";
import { alertNames, COPIED_RULES, RULE_GROUPS } from "../../support/rules.ts";

const docs = join(import.meta.dirname, "../../../../docs");
const read = (file: string): string => readFileSync(join(docs, file), "utf8");
/** What users read. */
const PAGES = globSync("{guide,reference,explain}/*.md", { cwd: docs }).map(read).join("\n");

describe("the rules", () => {
  const names = metricNames();

  it("ask for metrics that exist", () => {
    const rules = RULE_GROUPS.flatMap((group) => group.rules);
    const recorded = rules.flatMap(({ record }) => record ?? []);
    const asked = new Set(rules.flatMap(({ expr }) => metricsOf(expr)));
    expect(asked.size).toBeGreaterThan(10);
    expect([...asked].filter((name) => ![...names, ...recorded, ...OTHERS].includes(name))).toEqual([]);
  });

  it("recognise a metric that does not", () => {
    const query = "max by (pool) (kubevirt_macpool_missing{pool='a'} offset 1h) / sum(up[5m]) > 0 and time() < 3";
    expect(metricsOf(query)).toEqual(["kubevirt_macpool_missing", "up"]);
  });

  it("and pages name only metrics that exist", () => {
    const pattern = /`((?:kubevirt_|kmp_|bridge_marker_|linux_bridge_|cert_manager_|informer_)[a-z_]+)/g;
    const named = [...PAGES.matchAll(pattern)].map(([, name]) => name ?? "");
    expect([...new Set(named)].filter((name) => !names.includes(name))).toEqual([]);
  });

  it("and the page of metrics names all", () => {
    const page = read("reference/metrics.md");
    expect(names.filter((name) => !new RegExp(`^\\| \`${name}[\`{]`, "m").test(page))).toEqual([]);
  });

  it("have a section of the runbooks for each alert", () => {
    const sections = [...read("reference/runbooks.md").matchAll(/^## (\w+)$/gm)].map(([, title]) => title);
    expect(alertNames().filter((name) => !sections.includes(name))).toEqual([]);
  });

  it("carry the labels by which KubeVirt's alerts are found, and a summary", () => {
    for (const { labels, annotations } of RULE_GROUPS.flatMap(({ rules }) => rules.filter(({ alert }) => alert))) {
      expect(labels).toMatchObject({
        severity: expect.stringMatching(/^(warning|critical)$/),
        operator_health_impact: expect.stringMatching(/^(warning|critical)$/),
        kubernetes_operator_part_of: "kubevirt",
        kubernetes_operator_component: "cluster-network-addons-operator",
      });
      expect(annotations?.summary).toMatch(/\w/);
    }
  });

  const urls = (runbookUrlTemplate: string) => {
    const settings = { ...DEFAULT_SETTINGS, monitoring: { ...DEFAULT_SETTINGS.monitoring, runbookUrlTemplate } };
    const rules = renderEverything(settings)
      .filter(({ kind }) => kind === "PrometheusRule")
      .flatMap(({ spec }) => (spec as { groups: typeof RULE_GROUPS }).groups)
      .flatMap((group) => group.rules);
    return [...new Set(rules.flatMap(({ alert, annotations }) => (alert ? annotations?.runbook_url : [])))];
  };

  it("link to KubeVirt's runbooks where there are some, and all of them to those of the environment", () => {
    const byDefault = urls(DEFAULT_SETTINGS.monitoring.runbookUrlTemplate);
    expect(byDefault.filter((url) => url !== undefined)).toEqual(
      ["CnaoDown", "NetworkAddonsConfigNotReady", "KubemacpoolDown", "KubemacpoolMACCollisionDetected"].map(
        (name) => `https://kubevirt.io/monitoring/runbooks/${name}`,
      ),
    );
    expect(urls("https://example.com/runbooks#%s")).toEqual(
      alertNames().map((name) => `https://example.com/runbooks#${name}`),
    );
  });

  it("have the alert about collisions once more where monitoring of KubeMacPool looks for it, word for word", () => {
    expect(COPIED_RULES.map(({ alert }) => alert)).toEqual(["KubemacpoolMACCollisionDetected"]);
    for (const copy of COPIED_RULES) expect(RULE_GROUPS.flatMap(({ rules }) => rules)).toContainEqual(copy);
  });

  it("call a certificate overdue when half of the shorter overlap is left", () => {
    const overdue = (caOverlapInterval: string, certOverlapInterval: string) => {
      const selfSignConfiguration = {
        ...{ caRotateInterval: "100h0m0s", certRotateInterval: "50h0m0s" },
        ...{ caOverlapInterval, certOverlapInterval },
      };
      const previous = { spec: undefined, poolRange: undefined };
      const spec = effectiveSpec({ selfSignConfiguration }, previous, () => 0);
      const input = { spec, facts: EVERY_FACT, settings: DEFAULT_SETTINGS, deployed: NOTHING_DEPLOYED };
      return JSON.stringify(monitoring.render?.(input)).match(/time\(\) < \d+/g);
    };
    expect(overdue("24h0m0s", "12h0m0s")).toEqual(["time() < 21600", "time() < 21600"]);
    expect(overdue("1h0m0s", "12h0m0s")).toEqual(["time() < 1800", "time() < 1800"]);
  });
});
