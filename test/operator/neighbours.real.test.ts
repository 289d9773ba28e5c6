import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PROMETHEUS_RULES, SERVICE_MONITORS } from "../../src/api/kinds.ts";
import { OPERATOR_NAME } from "../../src/api/names.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { appliedKind } from "../../src/operator/apply/applied-kinds.ts";
import { COMPONENTS, renderEverything } from "../../src/operator/components/registry.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { EVERY_FACT } from "../../src/operator/watch/facts.ts";
import { eventually } from "../support/eventually.ts";
import { PROMETHEUS_OPERATOR_CRDS } from "./support/external-kinds.ts";
import { InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";

const BOTH = { linuxBridge: {}, kubeMacPool: {} };
const API_EGRESS = { namespace: NAMESPACE, name: "cnao-allow-egress-to-cluster-api" };
const API_SLICE = { namespace: "default", name: "kubernetes" };

/** Objects that are there only while the Prometheus operator is. */
const FACTS = { ...EVERY_FACT, securityContextConstraints: false };
const WITHOUT = renderEverything(DEFAULT_SETTINGS, COMPONENTS, { ...FACTS, prometheusOperator: false });
const FOR_PROMETHEUS = renderEverything(DEFAULT_SETTINGS, COMPONENTS, FACTS).filter(
  ({ kind, metadata }) => !WITHOUT.some((other) => other.kind === kind && other.metadata.name === metadata.name),
);

/** What the API server says to whoever is still at it. */
const BEING_DELETED = "create not allowed while custom resource definition is terminating";

describe("what other parts of the cluster offer", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install({ bare: true });
    cluster.start();
    await cluster.applyConfig(BOTH);
    await cluster.rollOutUntilAvailable();
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  const missing = async (): Promise<(string | undefined)[]> => {
    const names = [];
    for (const object of FOR_PROMETHEUS) {
      const there = await cluster.exists(object).catch(() => false);
      if (!there) names.push(object.metadata.name);
    }
    return names;
  };
  const apiPorts = async (): Promise<unknown> => {
    const policy = await cluster.find(RESOURCES.networkPolicies, API_EGRESS);
    return policy?.spec?.egress?.[0]?.ports?.map(({ port }) => port);
  };

  it("is used as soon as it is there: the Prometheus operator comes and goes", async () => {
    expect(FOR_PROMETHEUS.map(({ kind }) => kind).sort()).toEqual([
      "ClusterRole",
      "ClusterRoleBinding",
      "PrometheusRule",
      "PrometheusRule",
      "PrometheusRule",
      "Role",
      "Role",
      "RoleBinding",
      "RoleBinding",
      "ServiceMonitor",
      "ServiceMonitor",
    ]);
    expect(await missing()).toHaveLength(FOR_PROMETHEUS.length);
    expect(await cluster.condition("Degraded")).toBe("False");
    await cluster.installPrometheusOperator();
    await eventually("everything for Prometheus", async () => (await missing()).length === 0);
    const crds = PROMETHEUS_OPERATOR_CRDS.map(({ metadata }) => ({ name: metadata.name ?? "" }));
    for (const crd of crds) await cluster.admin.delete(RESOURCES.crds, crd);
    await eventually("nothing for Prometheus", async () => (await missing()).length === FOR_PROMETHEUS.length);
    for (const crd of crds) await cluster.until(async () => !(await cluster.isThere(RESOURCES.crds, crd)));
    await cluster.until(async () => (await cluster.condition("Degraded")) === "False");
    expect(await cluster.condition("Available")).toBe("True");
  });

  it("is there when it comes again, and put back when others change it", async () => {
    await cluster.installPrometheusOperator();
    await eventually("everything for Prometheus", async () => (await missing()).length === 0);
    const rule = { namespace: NAMESPACE, name: `prometheus-rules-${OPERATOR_NAME}` };
    await cluster.admin.patch(PROMETHEUS_RULES, rule, { type: "merge", body: { spec: { groups: [] } } });
    const monitor = { namespace: NAMESPACE, name: `service-monitor-${OPERATOR_NAME}` };
    await cluster.admin.delete(SERVICE_MONITORS, monitor);
    await cluster.until(async () => {
      const groups = (await cluster.admin.get(PROMETHEUS_RULES, rule)).spec as { groups: unknown[] };
      return groups.groups.length > 0 && (await cluster.isThere(SERVICE_MONITORS, monitor));
    });
  });

  it("decides about the port to which pods may connect: that of the API servers, wherever they move", async () => {
    expect(await apiPorts()).toBeUndefined();
    await cluster.publishApiServer([7443]);
    await eventually("the port", async () => JSON.stringify(await apiPorts()) === "[7443]");
    const ports = [8443, 6443].map((port) => ({ name: `https-${port}`, port }));
    const moved = { type: "merge" as const, body: { ports } };
    await cluster.admin.patch(RESOURCES.endpointSlices, API_SLICE, moved);
    await eventually("the other ports", async () => JSON.stringify(await apiPorts()) === "[6443,8443]");
    await cluster.admin.delete(RESOURCES.endpointSlices, API_SLICE);
    await eventually("no policy", async () => (await apiPorts()) === undefined);
    await cluster.publishApiServer([7443]);
    await eventually("the port again", async () => JSON.stringify(await apiPorts()) === "[7443]");
  });

  it("is written once: nothing changes while the cluster stays as it is", async () => {
    const versions = async () => {
      const all = [];
      for (const object of [...WITHOUT, ...FOR_PROMETHEUS]) {
        const { name = "", namespace } = object.metadata;
        const live = await cluster.find(appliedKind(object).resource, { name, namespace });
        all.push([name, live?.metadata.resourceVersion]);
      }
      return all;
    };
    const before = await versions();
    await cluster.stop();
    const { length } = cluster.client.writes;
    cluster.start();
    await eventually("another look", async () => (await cluster.metrics.metrics()).includes('result="success"} 1'));
    expect(await versions()).toEqual(before);
    expect(cluster.client.writes.slice(length)).toEqual([]);
  });

  it("was never refused to the operator", () => {
    const forbidden = cluster.warnings.filter((warning) => warning.includes("orbidden"));
    expect(forbidden.filter((warning) => !warning.includes(BEING_DELETED))).toEqual([]);
  });
});
