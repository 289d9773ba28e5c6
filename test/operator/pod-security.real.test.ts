import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_IMAGE } from "../../src/api/image.ts";
import { ApiError } from "../../src/kube/client/api-error.ts";
import type { DaemonSet, Deployment } from "../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { isWorkload } from "../../src/operator/apply/applied-kinds.ts";
import { renderEverything } from "../../src/operator/components/registry.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { hostAccess } from "../../src/operator/manifests/host-access.ts";
import { release } from "../../src/operator/release.ts";
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
    'restricted volume types (volumes "cni-bin", "netns", "netns-1", "cni-run", "cni-state" use restricted volume type "hostPath")',
    'runAsNonRoot != true (pod or container "cni-plugins" must set securityContext.runAsNonRoot=true)',
    "runAsUser=0 (pod must not set runAsUser=0)",
  ],
  "bridge-marker": ["host namespaces (hostNetwork=true)", 'hostPort (container "bridge-marker" uses hostPort 8081)'],
  "linux-bridge-webhook": [],
  "kubemacpool-mac-controller-manager": [],
  "kubemacpool-cert-manager": [],
  multus: [
    "host namespaces (hostNetwork=true, hostPID=true)",
    'hostPort (container "multus-sidecar" uses hostPort 8446)',
    'probe or lifecycle host (container "multus-sidecar" uses probe or lifecycle host "127.0.0.1")',
    'privileged (container "kube-multus" must not set securityContext.privileged=true)',
    'seLinuxOptions (containers "install-multus-binary", "multus-sidecar" set forbidden securityContext.seLinuxOptions: type "spc_t")',
    'allowPrivilegeEscalation != false (container "kube-multus" must set securityContext.allowPrivilegeEscalation=false)',
    'unrestricted capabilities (container "kube-multus" must set securityContext.capabilities.drop=["ALL"]; containers "install-multus-binary", "multus-sidecar" must not include "DAC_OVERRIDE" in securityContext.capabilities.add)',
    'restricted volume types (volumes "cni", "cnibin", "hostroot", "host-run", "host-var-lib-cni-multus", "host-var-lib-cni-results", "host-var-lib-kubelet", "host-run-k8s-cni-cncf-io", "host-run-netns", "multus-conf-dir" use restricted volume type "hostPath")',
    'runAsNonRoot != true (pod or containers "install-multus-binary", "multus-sidecar", "kube-multus" must set securityContext.runAsNonRoot=true)',
    "runAsUser=0 (pod must not set runAsUser=0)",
  ],
  "dynamic-networks-controller-ds": [
    'seLinuxOptions (container "dynamic-networks-controller" set forbidden securityContext.seLinuxOptions: type "spc_t")',
    'restricted volume types (volumes "multus-socket", "cri-socket" use restricted volume type "hostPath")',
    'runAsNonRoot != true (pod or container "dynamic-networks-controller" must set securityContext.runAsNonRoot=true)',
    "runAsUser=0 (pod must not set runAsUser=0)",
  ],
  "ovs-cni-amd64": [
    "host namespaces (hostNetwork=true)",
    'seLinuxOptions (containers "ovs-cni-plugin", "ovs-cni-marker" set forbidden securityContext.seLinuxOptions: type "spc_t")',
    'unrestricted capabilities (containers "ovs-cni-plugin", "ovs-cni-marker" must not include "DAC_OVERRIDE" in securityContext.capabilities.add)',
    'restricted volume types (volumes "cnibin", "ovs-var-run" use restricted volume type "hostPath")',
    'runAsNonRoot != true (pod or containers "ovs-cni-plugin", "ovs-cni-marker" must set securityContext.runAsNonRoot=true)',
    "runAsUser=0 (pod must not set runAsUser=0)",
  ],
  "macvtap-cni": [
    "host namespaces (hostNetwork=true, hostPID=true)",
    'privileged (container "macvtap-cni" must not set securityContext.privileged=true)',
    'seLinuxOptions (container "install-cni" set forbidden securityContext.seLinuxOptions: type "spc_t")',
    'allowPrivilegeEscalation != false (container "macvtap-cni" must set securityContext.allowPrivilegeEscalation=false)',
    'unrestricted capabilities (container "macvtap-cni" must set securityContext.capabilities.drop=["ALL"]; container "install-cni" must not include "DAC_OVERRIDE" in securityContext.capabilities.add)',
    'restricted volume types (volumes "deviceplugin", "cni" use restricted volume type "hostPath")',
    'runAsNonRoot != true (pod or containers "install-cni", "macvtap-cni" must set securityContext.runAsNonRoot=true)',
    "runAsUser=0 (pod must not set runAsUser=0)",
  ],
  "secondary-dns": [],
  "kubevirt-ipam-controller-manager": [],
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
      expect(hostAccess(workload) === undefined).toBe(needs.length === 0);
      expect(await refusal(workload, "privileged")).toBeUndefined();
    },
  );
});
