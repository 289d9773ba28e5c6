import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { NODE_MACS_CRD } from "../../../src/api/crds.ts";
import { FORMER_CNI_BIN_DIRS, parseFormerCniBinDirs } from "../../../src/api/former-cni-bin-dirs.ts";
import type { NetworkAddonsConfigSpec } from "../../../src/api/network-addons-config.ts";
import type { Placement } from "../../../src/api/placement.ts";
import { parseFlags } from "../../../src/bridge-marker/flags.ts";
import type { DaemonSet, Deployment } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { appliedKind } from "../../../src/operator/apply/applied-kinds.ts";
import { type Deployed, NOTHING_DEPLOYED } from "../../../src/operator/components/component.ts";
import { COMPONENTS, renderEverything } from "../../../src/operator/components/registry.ts";
import { effectiveSpec } from "../../../src/operator/config/effective-spec.ts";
import { DEFAULT_SETTINGS } from "../../../src/operator/config/settings.ts";
import { EVERY_FACT } from "../../../src/operator/watch/facts.ts";

const BOTH: NetworkAddonsConfigSpec = { linuxBridge: {}, kubeMacPool: {} };
const OWN = COMPONENTS.filter(({ name }) => name in BOTH);

function render(
  name: string,
  asked: NetworkAddonsConfigSpec = BOTH,
  nodeCount = 2,
  deployed = NOTHING_DEPLOYED,
): KubeObject[] {
  const spec = effectiveSpec(asked, { spec: undefined, poolRange: undefined }, () => 0);
  const component = COMPONENTS.find((candidate) => candidate.name === name);
  return [
    ...(component?.render?.({ spec, facts: { ...EVERY_FACT, nodeCount }, settings: DEFAULT_SETTINGS, deployed }) ?? []),
  ];
}

function workloads(objects: readonly KubeObject[]): (Deployment | DaemonSet)[] {
  return objects.filter(({ kind }) => kind === "Deployment" || kind === "DaemonSet") as (Deployment | DaemonSet)[];
}

/** The Deployments. */
function renderPlaced(tolerations: NonNullable<Placement["tolerations"]>): KubeObject[] {
  const asked = {
    ...BOTH,
    kubeSecondaryDNS: {},
    kubevirtIpamController: {},
    placementConfiguration: { infra: { tolerations } },
  };
  const spec = effectiveSpec(asked, { spec: undefined, poolRange: undefined }, () => 0);
  const input = { spec, facts: EVERY_FACT, settings: DEFAULT_SETTINGS, deployed: NOTHING_DEPLOYED };
  const objects = COMPONENTS.filter(({ name }) => name in asked).flatMap((component) => component.render(input));
  return objects.filter(({ kind }) => kind === "Deployment");
}

const podOf = (workload: Deployment | DaemonSet) => workload.spec?.template.spec;

describe("the components", () => {
  it.each(["linuxBridge", "kubeMacPool", "monitoring", "networkPolicies", "operatorFence", "removalGuard"])(
    "%s renders what its golden file says",
    async (name) => {
      const objects = render(name).filter(({ kind }) => kind !== "CustomResourceDefinition");
      const text = objects.map((object) => stringify(object, { lineWidth: 120, aliasDuplicateObjects: false }));
      await expect(text.join("---\n")).toMatchFileSnapshot(`../../golden/${name}.yaml`);
    },
  );

  it("render only kinds that the operator knows how to apply and remove", () => {
    expect(() => renderEverything(DEFAULT_SETTINGS).map(appliedKind)).not.toThrow();
  });

  it("give every object its own name; only the definition that two of them use is one and the same", () => {
    const everything = renderEverything(DEFAULT_SETTINGS);
    const distinct = new Map(everything.map((object) => [`${object.kind} ${object.metadata.name}`, object]));
    const repeated = everything.filter((object) => ![...distinct.values()].includes(object));
    expect(repeated).toEqual([]);
    expect(everything.length - distinct.size).toBe(1);
    expect(everything.filter((object) => object === NODE_MACS_CRD)).toHaveLength(2);
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
    const hostPaths = ["/opt/cni/bin", "/run/netns", "/var/run/netns", "/run/cni", "/var/lib/cni"];
    for (const workload of workloads(renderEverything(DEFAULT_SETTINGS, OWN))) {
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

  it("tell other software the range as it is written, and the pool in one notation", () => {
    const range = { rangeStart: "02-5D-1C-00-00-00", rangeEnd: "025d.1cff.ffff" };
    const objects = render("kubeMacPool", { kubeMacPool: range });
    const named = (kind: string, name: string) =>
      objects.find((one) => one.kind === kind && one.metadata.name === name);
    expect(named("ConfigMap", "kubemacpool-mac-range-config")?.data).toEqual({
      RANGE_START: range.rangeStart,
      RANGE_END: range.rangeEnd,
    });
    expect(named("MACPool", "default")?.spec).toEqual({
      ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:ff:ff:ff" }],
    });
  });

  it("have pods of Deployments replaced soon after their node was lost, unless the placement says for how long", () => {
    const secondsOf = (tolerations: NonNullable<Placement["tolerations"]>) =>
      workloads(renderPlaced(tolerations)).map((workload) =>
        (podOf(workload)?.tolerations ?? []).map(({ key, tolerationSeconds }) => [key, tolerationSeconds]),
      );
    const lost = [
      ["node.kubernetes.io/not-ready", 10],
      ["node.kubernetes.io/unreachable", 10],
    ];
    const deployments = secondsOf([]);
    expect(deployments.length).toBeGreaterThan(4);
    for (const tolerated of deployments) expect(tolerated).toEqual(lost);
    for (const tolerated of secondsOf([{ key: "infra", operator: "Exists", effect: "NoSchedule" }])) {
      expect(tolerated).toEqual([["infra", undefined], ...lost]);
    }
    for (const tolerated of secondsOf([{ operator: "Exists" }])) expect(tolerated).toEqual([[undefined, undefined]]);
    const own = {
      key: "node.kubernetes.io/unreachable",
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 60,
    };
    for (const tolerated of secondsOf([own])) {
      expect(tolerated).toEqual([
        ["node.kubernetes.io/unreachable", 60],
        ["node.kubernetes.io/not-ready", 10],
      ]);
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
    const rendered = (linuxBridge: object) =>
      workloads(render("linuxBridge", { linuxBridge }))
        .map((workload) => JSON.stringify(workload))
        .join("");
    expect(rendered({})).not.toContain("REPLACE_FOREIGN_PLUGINS");
    expect(rendered({ replaceForeignPlugins: true })).toContain('{"name":"REPLACE_FOREIGN_PLUGINS","value":"true"}');
  });

  describe("after a change of the CNI directory", () => {
    const READY: Deployed["rollout"] = { phase: "ready" };
    const ROLLING: Deployed["rollout"] = { phase: "rolling", message: "" };
    const installerOf = (cniBinDir: string, before?: KubeObject, state: Partial<Deployed> = {}) => {
      const deployed = ({ name }: { name?: string | undefined }) =>
        before === undefined || name !== before.metadata.name
          ? undefined
          : { object: before, rollout: READY, cannotStart: false, ...state };
      const [installer] = workloads(render("linuxBridge", { linuxBridge: { cniBinDir } }, 2, deployed));
      if (installer === undefined) throw new Error("no installer");
      return installer;
    };
    /** Directories on the node: the present one, and the former ones as volumes and as the process has them configured. */
    const directoriesOf = (installer: Deployment | DaemonSet): object => {
      const paths = podOf(installer)?.volumes?.map(({ hostPath }) => hostPath?.path) ?? [];
      const text = podOf(installer)?.containers[0]?.env?.find(({ name }) => name === FORMER_CNI_BIN_DIRS)?.value;
      const configured = parseFormerCniBinDirs(text).map(({ directoryOnNode }) => directoryOnNode);
      return { present: paths[0], former: paths.slice(5), configured };
    };

    it("give the installer the former directory until every pod has had it", () => {
      const first = installerOf("/a");
      const second = installerOf("/b", first);
      expect(directoriesOf(second)).toEqual({ present: "/b", former: ["/a"], configured: ["/a"] });
      expect(installerOf("/b", second, { rollout: ROLLING })).toEqual(second);
      const withLostNode = { rollout: { phase: "ready", note: "n1 is not ready" } } as const;
      expect(installerOf("/b", second, withLostNode)).toEqual(second);
      expect(installerOf("/b", second)).toEqual(installerOf("/b"));
    });

    it("mount each former directory where the process is told to look for it", () => {
      const pod = podOf(installerOf("/b", installerOf("/a")));
      const mounts = pod?.containers[0]?.volumeMounts ?? [];
      const text = pod?.containers[0]?.env?.find(({ name }) => name === FORMER_CNI_BIN_DIRS)?.value;
      const [former] = parseFormerCniBinDirs(text);
      const volume = mounts.find(({ mountPath }) => mountPath === former?.directory)?.name;
      expect(pod?.volumes?.find(({ name }) => name === volume)?.hostPath?.path).toBe("/a");
    });

    it("keep all former directories while changes follow each other, and none that is in use again", () => {
      const second = installerOf("/b", installerOf("/a"));
      const third = installerOf("/c", second, { rollout: ROLLING });
      expect(directoriesOf(third)).toEqual({ present: "/c", former: ["/a", "/b"], configured: ["/a", "/b"] });
      const back = installerOf("/a/", third, { rollout: ROLLING });
      expect(directoriesOf(back)).toEqual({ present: "/a/", former: ["/b", "/c"], configured: ["/b", "/c"] });
    });

    it("do without former directories where a pod can't start with them", () => {
      const second = installerOf("/b", installerOf("/a"));
      expect(installerOf("/b", second, { rollout: ROLLING, cannotStart: true })).toEqual(installerOf("/b"));
    });

    it("take a DaemonSet of somebody else for one without former directories", () => {
      const template = { spec: { containers: [{ name: "cni-plugins", image: "theirs" }] } };
      const theirs = { ...installerOf("/a"), spec: { selector: {}, template } } as KubeObject;
      expect(installerOf("/b", theirs)).toEqual(installerOf("/b"));
    });
  });

  it("follow the settings of linuxBridge", () => {
    const linuxBridge = { bridgeMarkerHealthPort: 0, cniBinDir: "/var/lib/cni/bin" };
    const [installer, marker] = workloads(render("linuxBridge", { linuxBridge }));
    expect(installer && podOf(installer)?.volumes?.[0]?.hostPath?.path).toBe("/var/lib/cni/bin");
    expect(marker && podOf(marker)?.containers[0]?.args?.slice(0, 4)).toEqual([
      ...["-node-name", "$(NODE_NAME)"],
      ...["-health-probe-port", "0"],
    ]);
    expect(marker && podOf(marker)?.containers[0]).not.toHaveProperty("readinessProbe");
  });

  it("choose the bridges that the marker publishes", () => {
    const linuxBridge = { markerInclude: ["br*", "lab?"], markerExclude: ["br-*"], markerOnlyWithPorts: true };
    const [, marker] = workloads(render("linuxBridge", { linuxBridge }));
    const args = (marker && podOf(marker)?.containers[0]?.args) ?? [];
    const parsed = parseFlags(args);
    const selection = { include: ["br*", "lab?"], exclude: ["br-*"], onlyWithPorts: true };
    expect(parsed).toMatchObject({ ok: true, flags: { selection } });
  });

  it("have probes at the node's address, or at loopback on another port where that is asked for", () => {
    const probed = (linuxBridge: object) =>
      workloads(render("linuxBridge", { linuxBridge }))
        .slice(0, 2)
        .map((workload) => podOf(workload)?.containers[0])
        .map((container) => [
          container?.env?.find(({ name }) => name === "HEALTH_HOST"),
          container?.livenessProbe?.httpGet,
        ]);
    const path = { path: "/healthz", scheme: "HTTP" };
    const nodeAddress = { name: "HEALTH_HOST", valueFrom: { fieldRef: { fieldPath: "status.hostIP" } } };
    expect(probed({})).toEqual([
      [nodeAddress, { ...path, port: 8082 }],
      [nodeAddress, { ...path, port: 8081 }],
    ]);
    const asked = { healthProbeAddress: "Loopback", installerHealthPort: 9102, bridgeMarkerHealthPort: 9101 };
    const loopback = { name: "HEALTH_HOST", value: "127.0.0.1" };
    expect(probed(asked)).toEqual([
      [loopback, { ...path, host: "127.0.0.1", port: 9102 }],
      [loopback, { ...path, host: "127.0.0.1", port: 9101 }],
    ]);
  });
});
