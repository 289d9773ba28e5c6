import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_IMAGE } from "../../src/api/image.ts";
import { ApiError } from "../../src/kube/client/api-error.ts";
import type { DaemonSet, Deployment } from "../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { renderEverything } from "../../src/operator/components/registry.ts";
import { isWorkload } from "../../src/operator/convergence/applied-kinds.ts";
import { release } from "../../src/operator/release.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/settings.ts";
import { InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";

type Workload = Deployment | DaemonSet;

const WORKLOADS = [...release(DEFAULT_IMAGE).operator, ...renderEverything(DEFAULT_SETTINGS)].filter(
  isWorkload,
) as Workload[];
const LEVELS = ["privileged", "baseline", "restricted"] as const;

/** Of each pod, what the restricted level finds wrong with it: nothing, or exactly the access to the host that it needs. */
const HOST_ACCESS: Readonly<Record<string, readonly string[]>> = {
  "cluster-network-addons-operator": [],
  "kube-cni-linux-bridge-plugin": [
    "host namespaces (hostNetwork=true)",
    'hostPort (container "cni-plugins" uses hostPort 8082)',
    'seLinuxOptions (container "cni-plugins" set forbidden securityContext.seLinuxOptions: type "spc_t")',
    'unrestricted capabilities (container "cni-plugins" must not include "DAC_OVERRIDE", "NET_ADMIN" in securityContext.capabilities.add)',
    'restricted volume types (volumes "cni-bin", "netns", "cni-run", "cni-state" use restricted volume type "hostPath")',
    'runAsNonRoot != true (pod or container "cni-plugins" must set securityContext.runAsNonRoot=true)',
    "runAsUser=0 (pod must not set runAsUser=0)",
  ],
  "bridge-marker": ["host namespaces (hostNetwork=true)", 'hostPort (container "bridge-marker" uses hostPort 8081)'],
  "linux-bridge-webhook": [],
  "kubemacpool-mac-controller-manager": [],
  "kubemacpool-cert-manager": [],
};

describe("Pod Security admission of a real API server", () => {
  let cluster: InstalledOperator;

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    const accounts = new Set(WORKLOADS.map((workload) => workload.spec?.template.spec?.serviceAccountName ?? ""));
    for (const level of LEVELS) {
      const labels = { "pod-security.kubernetes.io/enforce": level };
      await cluster.admin.create(RESOURCES.namespaces, { metadata: { name: level, labels } });
    }
    for (const namespace of [...LEVELS, NAMESPACE]) {
      for (const name of accounts) {
        if (await cluster.isThere(RESOURCES.serviceAccounts, { name, namespace })) continue;
        await cluster.admin.create(RESOURCES.serviceAccounts, { metadata: { name, namespace } });
      }
    }
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  /** Creates the workload's pod without keeping it. Undefined when it is admitted, else the API server's answer. */
  async function refusal({ metadata, spec }: Workload, namespace: string): Promise<string | undefined> {
    const pod = { metadata: { name: metadata.name ?? "", namespace }, spec: spec?.template.spec };
    try {
      await cluster.admin.create(RESOURCES.pods, pod as never, { dryRun: true });
      return undefined;
    } catch (error) {
      if (error instanceof ApiError) return error.message;
      throw error;
    }
  }

  it("knows every pod of the product", () => {
    expect(WORKLOADS.map(({ metadata }) => metadata.name).sort()).toEqual(Object.keys(HOST_ACCESS).sort());
  });

  it.each(WORKLOADS.map((workload) => [workload.metadata.name ?? "", workload] as const))(
    "admits %s where the release puts it, and finds no more wrong with it than it needs",
    async (name, workload) => {
      expect(await refusal(workload, NAMESPACE)).toBeUndefined();
      const needs = HOST_ACCESS[name] ?? [];
      const restricted = await refusal(workload, "restricted");
      const violations = restricted?.replace(/^.*violates PodSecurity "restricted:latest": /, "");
      expect(violations).toBe(needs.length === 0 ? undefined : needs.join(", "));
      expect((await refusal(workload, "baseline")) === undefined).toBe(needs.length === 0);
      expect(await refusal(workload, "privileged")).toBeUndefined();
    },
  );
});
