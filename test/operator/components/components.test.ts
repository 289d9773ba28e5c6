import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import type { NetworkAddonsConfigSpec } from "../../../src/api/network-addons-config.ts";
import type { DaemonSet, Deployment } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { COMPONENTS, renderEverything } from "../../../src/operator/components/registry.ts";
import { appliedKind } from "../../../src/operator/convergence/applied-kinds.ts";
import { NO_FACTS } from "../../../src/operator/facts.ts";
import { DEFAULT_SETTINGS } from "../../../src/operator/settings.ts";
import { effectiveSpec } from "../../../src/operator/spec/effective-spec.ts";

const BOTH: NetworkAddonsConfigSpec = { linuxBridge: {}, kubeMacPool: {} };

function render(name: string, asked: NetworkAddonsConfigSpec = BOTH, nodeCount = 2): KubeObject[] {
  const spec = effectiveSpec(asked, { spec: undefined, poolRange: undefined }, () => 0);
  const component = COMPONENTS.find((candidate) => candidate.name === name);
  return [...(component?.render?.({ spec, facts: { ...NO_FACTS, nodeCount }, settings: DEFAULT_SETTINGS }) ?? [])];
}

function workloads(objects: readonly KubeObject[]): (Deployment | DaemonSet)[] {
  return objects.filter(({ kind }) => kind === "Deployment" || kind === "DaemonSet") as (Deployment | DaemonSet)[];
}

const podOf = (workload: Deployment | DaemonSet) => workload.spec?.template.spec;

describe("the components", () => {
  it.each(["linuxBridge", "kubeMacPool"])("%s renders what its golden file says", async (name) => {
    const objects = render(name).filter(({ kind }) => kind !== "CustomResourceDefinition");
    const text = objects.map((object) => stringify(object, { lineWidth: 120, aliasDuplicateObjects: false }));
    await expect(text.join("---\n")).toMatchFileSnapshot(`../../golden/${name}.yaml`);
  });

  it("render only kinds that the operator knows how to apply and remove", () => {
    expect(() => renderEverything(DEFAULT_SETTINGS).map(appliedKind)).not.toThrow();
  });

  it("give every object its own name", () => {
    const names = renderEverything(DEFAULT_SETTINGS).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
  });

  it("never touch what others fill in: data of Secrets, the caBundle of webhooks", () => {
    const text = JSON.stringify(renderEverything(DEFAULT_SETTINGS));
    expect(text).not.toContain("caBundle");
    expect(
      renderEverything(DEFAULT_SETTINGS).filter(({ kind, data }) => kind === "Secret" && data !== undefined),
    ).toEqual([]);
  });

  it("run one replica without a disruption budget on a single node, two with one on more", () => {
    const replicas = (nodeCount: number) =>
      render("kubeMacPool", BOTH, nodeCount)
        .filter(({ kind, metadata }) => kind === "Deployment" && metadata.name === "kubemacpool-mac-controller-manager")
        .map((object) => (object as Deployment).spec?.replicas);
    const budgets = (nodeCount: number) =>
      render("kubeMacPool", BOTH, nodeCount).filter(({ kind }) => kind === "PodDisruptionBudget").length;
    expect([replicas(1), budgets(1), replicas(2), budgets(2)]).toEqual([[1], 0, [2], 1]);
  });

  it("put Deployments where infra goes and DaemonSets where workloads go", () => {
    const placementConfiguration = {
      infra: { nodeSelector: { infra: "yes" } },
      workloads: { nodeSelector: { work: "yes" }, tolerations: [{ operator: "Exists" }] },
    };
    for (const workload of workloads([
      ...render("linuxBridge", { ...BOTH, placementConfiguration }),
      ...render("kubeMacPool", { ...BOTH, placementConfiguration }),
    ])) {
      const expected = workload.kind === "DaemonSet" ? placementConfiguration.workloads : placementConfiguration.infra;
      expect(podOf(workload)).toMatchObject(expected);
    }
  });

  it("need no privilege but the host's network, and the node agent what CNI keeps on the host, whoever owns it, and NET_ADMIN", () => {
    const hostPaths = ["/opt/cni/bin", "/run/netns", "/run/cni", "/var/lib/cni"];
    for (const workload of workloads(renderEverything(DEFAULT_SETTINGS))) {
      const pod = podOf(workload);
      expect(pod?.securityContext?.seccompProfile).toEqual({ type: "RuntimeDefault" });
      const isInstaller = workload.metadata.name === "kube-cni-linux-bridge-plugin";
      for (const container of pod?.containers ?? []) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"], ...(isInstaller ? { add: ["NET_ADMIN", "DAC_OVERRIDE"] } : {}) },
          ...(isInstaller ? { seLinuxOptions: { type: "spc_t" } } : {}),
        });
      }
      expect(pod?.securityContext?.runAsNonRoot).toBe(isInstaller ? undefined : true);
      expect(pod?.volumes?.map(({ hostPath }) => hostPath?.path)).toEqual(isInstaller ? hostPaths : undefined);
    }
  });

  it("pull their images with the operator's Secrets", () => {
    const pullSecrets = (imagePullSecrets: readonly string[]) =>
      workloads(renderEverything({ ...DEFAULT_SETTINGS, imagePullSecrets })).map(
        (workload) => podOf(workload)?.imagePullSecrets,
      );
    expect(new Set(pullSecrets([]))).toEqual(new Set([undefined]));
    for (const secrets of pullSecrets(["one", "two"])) expect(secrets).toEqual([{ name: "one" }, { name: "two" }]);
  });

  it("tell the installer to replace foreign plugins only where the configuration says so", () => {
    const told = (linuxBridge: object) =>
      workloads(render("linuxBridge", { linuxBridge }))
        .map((workload) => JSON.stringify(workload))
        .join("");
    expect(told({})).not.toContain("REPLACE_FOREIGN_PLUGINS");
    expect(told({ replaceForeignPlugins: true })).toContain('{"name":"REPLACE_FOREIGN_PLUGINS","value":"true"}');
  });

  it("follow the settings of linuxBridge", () => {
    const linuxBridge = { bridgeMarkerHealthPort: 0, cniBinDir: "/var/lib/cni/bin" };
    const [installer, marker] = workloads(render("linuxBridge", { linuxBridge }));
    expect(installer && podOf(installer)?.volumes?.[0]?.hostPath?.path).toBe("/var/lib/cni/bin");
    expect(marker && podOf(marker)?.containers[0]).toMatchObject({
      args: ["-node-name", "$(NODE_NAME)", "-health-probe-port", "0"],
    });
    expect(marker && podOf(marker)?.containers[0]).not.toHaveProperty("readinessProbe");
  });
});
