import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAC_POOLS } from "../../src/api/kinds.ts";
import type { MACPool } from "../../src/api/mac-pool.ts";
import type { KubeObject, Resource } from "../../src/kube/client/resource.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/settings.ts";
import { InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";

const MANAGER = { name: "kubemacpool-mac-controller-manager", namespace: NAMESPACE };
const MUTATOR = { name: "kubemacpool-mutator" };
const SERVING = { name: "kubemacpool-service", namespace: NAMESPACE };
const RANGE = { rangeStart: "02:5d:1c:00:00:00", rangeEnd: "02:5d:1c:ff:ff:ff" };
const POOLS: Resource<MACPool> = MAC_POOLS;

/** What KubeMacPool leaves behind under the names that we use, made by another client. */
const PREDECESSOR = [
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { ...MANAGER, labels: { app: "kubemacpool", "control-plane": "mac-controller-manager" } },
    spec: {
      replicas: 1,
      strategy: { type: "Recreate" },
      selector: { matchLabels: { "control-plane": "mac-controller-manager" } },
      template: {
        metadata: { labels: { app: "kubemacpool", "control-plane": "mac-controller-manager" } },
        spec: {
          containers: [
            { name: "manager", image: "kubemacpool", command: ["/manager"], args: ["--v=production"] },
            { name: "kube-rbac-proxy", image: "kube-rbac-proxy", args: ["--secure-listen-address=:8443"] },
          ],
          volumes: [{ name: "tls-key-pair", secret: { secretName: SERVING.name } }],
        },
      },
    },
  },
  {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "kubemacpool-election", namespace: NAMESPACE },
    spec: { holderIdentity: "gone", leaseDurationSeconds: 15 },
  },
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "kubemacpool-mac-range-config", namespace: NAMESPACE },
    data: { RANGE_START: RANGE.rangeStart, RANGE_END: RANGE.rangeEnd },
  },
  {
    apiVersion: "v1",
    kind: "Secret",
    metadata: SERVING,
    type: "kubernetes.io/tls",
    data: { "tls.crt": "b2xk", "tls.key": "b2xk" },
  },
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: MUTATOR,
    webhooks: [
      { name: "mutatepods.kubemacpool.io", path: "/mutate-pods", group: "", resource: "pods" },
      {
        name: "mutatevirtualmachines.kubemacpool.io",
        path: "/mutate-virtualmachines",
        group: "kubevirt.io",
        resource: "virtualmachines",
      },
    ].map(({ name, path, group, resource }) => ({
      name,
      clientConfig: { caBundle: "", service: { name: SERVING.name, namespace: NAMESPACE, path } },
      failurePolicy: "Fail",
      sideEffects: "NoneOnDryRun",
      admissionReviewVersions: ["v1", "v1beta1"],
      namespaceSelector: { matchExpressions: [{ key: "runlevel", operator: "NotIn", values: ["0", "1"] }] },
      rules: [{ apiGroups: [group], apiVersions: ["*"], resources: [resource], operations: ["CREATE", "UPDATE"] }],
    })),
  },
];

describe("the operator on a cluster that runs KubeMacPool", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    for (const object of PREDECESSOR) {
      const created = await cluster.kubectl(["create", "-f", "-"], JSON.stringify(object));
      if (created.code !== 0) throw new Error(created.stderr);
    }
    cluster.start();
    await cluster.applyConfig({ kubeMacPool: RANGE });
    await cluster.rollOutUntilAvailable();
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  it("puts its own manager in the place of the old one, with nothing of that left", async () => {
    const manager = await cluster.find(RESOURCES.deployments, MANAGER);
    const { containers = [], volumes = [] } = manager?.spec?.template.spec ?? {};
    expect(containers.map(({ name }) => name)).toEqual(["manager"]);
    expect(containers[0]?.image).toBe(DEFAULT_SETTINGS.images.kubeMacPool);
    expect(containers[0]?.args).toBeUndefined();
    expect(volumes.map(({ name }) => name)).not.toContain("tls-key-pair");
    expect(manager?.spec?.strategy?.type).toBe("RollingUpdate");
  });

  it("takes the webhook configuration over without a moment in which there is none", async () => {
    const mutator = await cluster.find(RESOURCES.mutatingWebhookConfigurations, MUTATOR);
    const machines = mutator?.webhooks?.find(({ name }) => name === "mutatevirtualmachines.kubemacpool.io");
    expect(machines?.matchConditions?.map(({ name }) => name)).toEqual(["not-being-deleted", "interfaces-changed"]);
    expect(machines?.admissionReviewVersions).toEqual(["v1"]);
    expect(machines?.rules?.[0]?.apiVersions).toEqual(["v1"]);
    expect(mutator?.webhooks).toHaveLength(4);
    expect(mutator?.metadata.generation).toBeGreaterThan(1);
  });

  it("keeps the range and the Secrets for their keeper", async () => {
    const pool = await cluster.find(POOLS, { name: "default" });
    expect(pool?.spec.ranges).toEqual([{ start: RANGE.rangeStart, end: RANGE.rangeEnd }]);
    const serving = await cluster.find(RESOURCES.secrets as Resource<KubeObject>, SERVING);
    expect(serving?.data).toEqual({ "tls.crt": "b2xk", "tls.key": "b2xk" });
  });
});
