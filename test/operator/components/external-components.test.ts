import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import type { NetworkAddonsConfigSpec } from "../../../src/api/network-addons-config.ts";
import type { DaemonSet, Deployment } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { cniPath } from "../../../src/operator/components/cni-directories.ts";
import { type Deployed, missingPrerequisites, NOTHING_DEPLOYED } from "../../../src/operator/components/component.ts";
import { COMPONENTS } from "../../../src/operator/components/registry.ts";
import { COMPONENT_IMAGES, componentImages, PUBLISHED_IMAGES } from "../../../src/operator/config/component-images.ts";
import { effectiveSpec } from "../../../src/operator/config/effective-spec.ts";
import { DEFAULT_SETTINGS } from "../../../src/operator/config/settings.ts";
import { type Facts, NO_FACTS } from "../../../src/operator/watch/facts.ts";
import { nodeLayouts } from "../../../src/operator/watch/node-layout.ts";

type Workload = Deployment | DaemonSet;

const EXTERNAL = COMPONENTS.filter(({ standing }) => !standing)
  .map(({ name }) => name)
  .filter((name) => !["linuxBridge", "kubeMacPool"].includes(name));
const ALL: NetworkAddonsConfigSpec = Object.fromEntries(EXTERNAL.map((name) => [name, {}]));
const CERT_MANAGER = ["certificates.cert-manager.io", "issuers.cert-manager.io"];

function component(name: string) {
  const found = COMPONENTS.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(name);
  return found;
}

function render(name: string, more: NetworkAddonsConfigSpec = {}, facts: Partial<Facts> = {}, named = {}) {
  const nothing = { spec: undefined, poolRange: undefined };
  const spec = effectiveSpec({ ...ALL, ...more }, nothing, () => 0);
  const settings = { ...DEFAULT_SETTINGS, componentImages: componentImages(named) };
  const input = { spec, settings, facts: { ...NO_FACTS, nodeCount: 2, ...facts }, deployed: NOTHING_DEPLOYED };
  return [...component(name).render(input)];
}

const workloads = (objects: readonly KubeObject[]): Workload[] =>
  objects.filter(({ kind }) => kind === "Deployment" || kind === "DaemonSet") as Workload[];
const podOf = (workload: Workload) => workload.spec?.template.spec;
const one = (objects: readonly KubeObject[], kind: string): KubeObject => {
  const [found] = objects.filter((object) => object.kind === kind);
  if (found === undefined) throw new Error(`no ${kind}`);
  return found;
};
const text = (objects: readonly KubeObject[]): string =>
  objects.map((object) => stringify(object, { lineWidth: 120, aliasDuplicateObjects: false })).join("---\n");

describe("the components of other projects", () => {
  it.each(EXTERNAL)("%s renders what its golden file says", async (name) => {
    await expect(text(render(name))).toMatchFileSnapshot(`../../golden/${name}.yaml`);
  });

  it("render on OpenShift what the platform does not bring", async () => {
    const rendered = (name: string) => render(name, {}, { openShift: true, ...nodeLayouts([], true, {}) });
    expect(["multus", "multusDynamicNetworks"].flatMap(rendered)).toEqual([]);
    const platform = text(rendered("kubevirtIpamController"));
    await expect(platform).toMatchFileSnapshot("../../golden/kubevirtIpamController-openshift.yaml");
    expect(platform).not.toContain("cert-manager.io");
    expect(text(rendered("ovs"))).toContain("path: /var/lib/cni/bin");
    expect(text(rendered("kubeSecondaryDNS"))).toContain("runAsUser");
    const constrained = { securityContextConstraints: true };
    expect(text(render("kubeSecondaryDNS", {}, constrained))).not.toContain("runAsUser");
  });

  it.each(EXTERNAL)("%s follows placement, pull policy and pull Secrets", (name) => {
    const placementConfiguration = {
      infra: { nodeSelector: { infra: "yes" } },
      workloads: { nodeSelector: { work: "yes" }, tolerations: [{ operator: "Exists" }] },
    };
    const [workload, ...others] = workloads(render(name, { placementConfiguration, imagePullPolicy: "Always" }));
    expect(others).toEqual([]);
    const expected = workload?.kind === "DaemonSet" ? placementConfiguration.workloads : placementConfiguration.infra;
    const pod = workload && podOf(workload);
    expect(pod).toMatchObject(expected);
    const containers = [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])];
    expect(new Set(containers.map(({ imagePullPolicy }) => imagePullPolicy))).toEqual(new Set(["Always"]));
  });

  it.each(COMPONENT_IMAGES)(
    "run what %s names, and where it is empty or not there the image by its digest",
    (variable) => {
      const named = "registry.example.com/own:1";
      const { name, digest } = PUBLISHED_IMAGES[variable];
      const rendered = (value?: string) =>
        EXTERNAL.flatMap((each) => text(render(each, {}, {}, value === undefined ? {} : { [variable]: value }))).join();
      expect(rendered(named)).toContain(`image: ${named}\n`);
      expect(rendered(named)).not.toContain(name);
      for (const value of ["", undefined]) expect(rendered(value)).toContain(`image: ${name}@${digest}\n`);
    },
  );

  it("name each image by the digest of its list of architectures", () => {
    for (const { digest, version } of Object.values(PUBLISHED_IMAGES)) {
      expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
      expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    }
  });

  it("are privileged only where the program enters the namespaces of the node", () => {
    const privileged = EXTERNAL.flatMap((name) =>
      workloads(render(name)).flatMap((workload) => {
        const pod = podOf(workload);
        const all = [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])];
        for (const { securityContext } of all) {
          if (securityContext?.privileged !== true) {
            expect(securityContext).toMatchObject({
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ["ALL"] },
            });
          }
        }
        return all.filter(({ securityContext }) => securityContext?.privileged).map((container) => container.name);
      }),
    );
    expect(privileged).toEqual(["kube-multus", "macvtap-cni"]);
  });

  it("grant no wildcard, and no write to what belongs to others but what they are for", () => {
    const writes = EXTERNAL.flatMap((name) => render(name))
      .filter(({ kind }) => kind === "ClusterRole")
      .flatMap(({ rules }) => rules as { resources: string[]; verbs: string[] }[])
      .filter(({ verbs }) => verbs.some((verb) => !["get", "list", "watch"].includes(verb)))
      .map(
        ({ resources, verbs }) => `${verbs.filter((verb) => !["get", "list", "watch"].includes(verb))} ${resources}`,
      );
    expect([...new Set(writes)].sort()).toEqual([
      "create,patch events",
      "create,update ipamclaims",
      "patch nodes/status",
      "update pods/status",
      "update virtualmachines/finalizers,virtualmachineinstances/finalizers",
    ]);
  });

  it("put CNI plugins where linuxBridge says the node has them", () => {
    const linuxBridge = { cniBinDir: "/var/lib/rancher/k3s/data/cni" };
    for (const name of ["multus", "ovs", "macvtap"]) {
      const pod = workloads(render(name, { linuxBridge })).map(podOf)[0];
      expect(pod?.volumes?.map(({ hostPath }) => hostPath?.path)).toContain(linuxBridge.cniBinDir);
    }
    const { data } = one(render("multus", { linuxBridge }), "ConfigMap");
    expect(JSON.parse((data as Record<string, string>)["daemon-config.json"] ?? "")).toMatchObject({
      binDir: linuxBridge.cniBinDir,
    });
  });

  it("mount the socket of the nodes' runtime where the controller is told to look for it", () => {
    const hostCRISocketPath = "/run/k3s/containerd/containerd.sock";
    const objects = render("multusDynamicNetworks", { multusDynamicNetworks: { hostCRISocketPath } });
    const pod = workloads(objects).map(podOf)[0];
    const volume = pod?.volumes?.find(({ hostPath }) => hostPath?.path === hostCRISocketPath);
    const mount = pod?.containers[0]?.volumeMounts?.find(({ name }) => name === volume?.name);
    const config = one(objects, "ConfigMap").data as Record<string, string>;
    expect(JSON.parse(config["dynamic-networks-config.json"] ?? "")).toMatchObject({ criSocketPath: mount?.mountPath });
  });

  it("let multus find plugins in every CNI directory that nodes have had, each mounted under its own path", () => {
    const deployed = (directories: readonly string[], cannotStart = false): Deployed => {
      const env = [{ name: "CNI_PATH", value: directories.join(":") }];
      const spec = { template: { spec: { containers: [{ name: "kube-multus", env }] } } };
      const object: KubeObject = { metadata: {}, spec };
      return { object, rollout: { phase: "ready" }, cannotStart };
    };
    expect(cniPath("/opt/cni/bin", "/opt/cni/bin", undefined)).toEqual(["/opt/cni/bin"]);
    expect(cniPath("/run/a/", "/opt/cni/bin", deployed(["/opt/cni/bin"]))).toEqual(["/run/a", "/opt/cni/bin"]);
    expect(cniPath("/run/b", "/opt/cni/bin", deployed(["/run/a", "/opt/cni/bin"]))).toEqual([
      "/run/b",
      "/run/a",
      "/opt/cni/bin",
    ]);
    const many = ["/run/1", "/run/2", "/run/3", "/run/4", "/run/5", "/opt/cni/bin"];
    expect(cniPath("/run/0", "/opt/cni/bin", deployed(many))).toEqual(["/run/0", ...many.slice(0, 4), "/opt/cni/bin"]);
    const k3s = "/var/lib/rancher/k3s/data/cni";
    expect(cniPath(k3s, k3s, undefined)).toEqual([k3s]);
    expect(cniPath("/run/a", k3s, undefined)).toEqual(["/run/a", k3s]);
    // A node that can't have one of them gets the present one alone, and keeps it when it could start with that.
    expect(cniPath("/run/a", "/opt/cni/bin", deployed(["/run/a", "/opt/cni/bin"], true))).toEqual(["/run/a"]);
    expect(cniPath("/run/a", "/opt/cni/bin", deployed(["/run/a"]))).toEqual(["/run/a"]);

    const [multus] = workloads(render("multus", { linuxBridge: { cniBinDir: "/run/a" } })).map(podOf);
    const [daemon] = multus?.containers ?? [];
    const paths = daemon?.env?.find(({ name }) => name === "CNI_PATH")?.value?.split(":");
    expect(paths).toEqual(["/run/a", "/opt/cni/bin"]);
    const hostPaths = new Map(multus?.volumes?.map(({ name, hostPath }) => [name, hostPath?.path]));
    const mounted = daemon?.volumeMounts?.filter(({ name, mountPath }) => hostPaths.get(name) === mountPath);
    expect(mounted?.map(({ mountPath }) => mountPath)).toEqual(expect.arrayContaining(paths ?? []));
    expect(multus?.terminationGracePeriodSeconds).toBeGreaterThan(10);
  });

  it("show multus the directory for networks whose definition names no configuration", () => {
    const [multus] = workloads(render("multus", {})).map(podOf);
    const path = "/etc/cni/multus/net.d";
    const volume = multus?.volumes?.find(({ hostPath }) => hostPath?.path === path);
    const [daemon] = multus?.containers ?? [];
    expect(daemon?.volumeMounts).toContainEqual({ name: volume?.name, mountPath: path, readOnly: true });
  });

  it("leave a ConfigMap of another name to the user of macvtap", () => {
    const objects = render("macvtap", { macvtap: { devicePluginConfig: "mine" } });
    expect(objects.filter(({ kind }) => kind === "ConfigMap")).toEqual([]);
    expect(workloads(objects).map((workload) => podOf(workload)?.containers[0]?.envFrom)).toEqual([
      [{ configMapRef: { name: "mine" } }],
    ]);
  });

  it("replace the name server's pod when its configuration changes", () => {
    const template = (domain: string) => {
      const objects = render("kubeSecondaryDNS", { kubeSecondaryDNS: { domain, nameServerIP: "10.96.0.53" } });
      expect(one(objects, "ConfigMap").data).toMatchObject({ DOMAIN: domain, NAME_SERVER_IP: "10.96.0.53" });
      return workloads(objects)[0]?.spec?.template;
    };
    expect(template("a.example")?.metadata).not.toEqual(template("b.example")?.metadata);
    expect(template("a.example")).toEqual(template("a.example"));
  });

  it("tell the IPAM controller where the default network is defined", () => {
    const args = (defaultNetworkNADNamespace: string) =>
      workloads(render("kubevirtIpamController", { kubevirtIpamController: { defaultNetworkNADNamespace } })).flatMap(
        (workload) => podOf(workload)?.containers[0]?.args ?? [],
      );
    expect(args("")).toEqual(["--leader-elect"]);
    expect(args("nads")).toEqual(["--leader-elect", "--default-network-nad-namespace=nads"]);
  });

  it("need cert-manager only where no platform issues certificates, and say which kind is missing", () => {
    const missing = (facts: Partial<Facts>) =>
      COMPONENTS.flatMap((candidate) => missingPrerequisites(candidate, { ...NO_FACTS, ...facts }));
    expect(missing({ definitions: new Set(CERT_MANAGER) })).toEqual([]);
    expect(missing({ openShift: true })).toEqual([]);
    expect(missing({ definitions: new Set(CERT_MANAGER.slice(0, 1)) })).toEqual([
      "it needs cert-manager: install it (the API server does not serve issuers.cert-manager.io)",
    ]);
  });
});
