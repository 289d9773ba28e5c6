import { describe, expect, it } from "vitest";
import { PREREQUISITE_DEFINITIONS, renderEverything } from "../../../src/operator/components/registry.ts";
import { DEFAULT_SETTINGS } from "../../../src/operator/config/settings.ts";
import { operatorAccess } from "../../../src/operator/manifests/operator-access.ts";

const access = operatorAccess(renderEverything(DEFAULT_SETTINGS), PREREQUISITE_DEFINITIONS);
const resourceRules = [...access.cluster, ...access.namespaced].filter((rule) => "resources" in rule);
const WRITES = ["create", "update", "patch", "delete"];

describe("what the operator may do", () => {
  it("is to write nothing of other people's, besides what it hands on to components", () => {
    const handedOn = renderEverything(DEFAULT_SETTINGS).flatMap(({ kind, rules }) =>
      kind === "ClusterRole" || kind === "Role" ? (rules as unknown[]) : [],
    );
    const unnamed = resourceRules.filter(
      (rule) => rule.resourceNames === undefined && rule.verbs.some((verb) => WRITES.includes(verb)),
    );
    const own = unnamed.filter((rule) => !handedOn.some((other) => JSON.stringify(other) === JSON.stringify(rule)));
    expect(own).toEqual([]);
  });

  it("is to see its own Secrets only", () => {
    const secrets = resourceRules.filter(({ resources }) => resources.includes("secrets"));
    expect(secrets.length).toBeGreaterThan(0);
    expect(secrets.every(({ resourceNames }) => resourceNames !== undefined)).toBe(true);
    expect(access.cluster.some((rule) => "resources" in rule && rule.resources.includes("secrets"))).toBe(false);
  });

  it("is to delete no definition and no pool, because they hold users' data", () => {
    const kept = resourceRules.filter(({ resources }) =>
      resources.some((resource) => ["customresourcedefinitions", "macpools"].includes(resource)),
    );
    expect(kept.length).toBeGreaterThan(2);
    expect(kept.filter(({ verbs, resourceNames }) => verbs.includes("delete") && resourceNames !== undefined)).toEqual(
      [],
    );
  });

  it("hands on the use of its own SecurityContextConstraints, each by name and in its namespace", () => {
    const used = (rules: readonly object[]) =>
      rules.flatMap((rule) => {
        const { verbs, resourceNames = ["any"] } = rule as { verbs: string[]; resourceNames?: string[] };
        return verbs.includes("use") ? resourceNames : [];
      });
    expect(used(access.cluster)).toEqual([]);
    const own = renderEverything(DEFAULT_SETTINGS).filter(({ kind }) => kind === "SecurityContextConstraints");
    expect(own.length).toBeGreaterThan(0);
    expect(used(access.namespaced).sort()).toEqual(own.map(({ metadata }) => metadata.name).sort());
  });

  it("has no wildcard and no right to escalate", () => {
    const text = JSON.stringify(access);
    for (const word of ['"*"', "escalate", 'bind"', "impersonate"]) expect(text).not.toContain(word);
  });
});
