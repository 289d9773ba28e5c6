import { describe, expect, it } from "vitest";
import { K3S_CURRENT_TEXT } from "../../../src/api/linux-bridge-config.ts";
import type { NetworkAddonsConfigSpec } from "../../../src/api/network-addons-config.ts";
import type { DaemonSet, Node } from "../../../src/kube/client/built-in-kinds.ts";
import { hostPathNotes, NOTHING_DEPLOYED, type RenderInput } from "../../../src/operator/components/component.ts";
import { COMPONENTS } from "../../../src/operator/components/registry.ts";
import { effectiveSpec } from "../../../src/operator/config/effective-spec.ts";
import { DEFAULT_SETTINGS } from "../../../src/operator/config/settings.ts";
import { EVERY_FACT } from "../../../src/operator/watch/facts.ts";
import { nodeLayouts } from "../../../src/operator/watch/node-layout.ts";

const ALL: NetworkAddonsConfigSpec = { linuxBridge: {}, multus: {}, multusDynamicNetworks: {}, ovs: {}, macvtap: {} };

function node(name: string, kubeletVersion: string, osImage = "Debian", runtime = "containerd"): Node {
  const nodeInfo = { kubeletVersion, osImage, containerRuntimeVersion: `${runtime}://2.1.4` };
  return { metadata: { name }, status: { nodeInfo } } as unknown as Node;
}

const K3S = node("node-k", "v1.34.1+k3s1");
const K0S = node("node-0", "v1.34.1+k0s");
const TALOS = node("node-t", "v1.34.1", "Talos (v1.11.2)");

function inputFor(nodes: readonly Node[], asked: NetworkAddonsConfigSpec = ALL): RenderInput {
  return {
    spec: effectiveSpec(asked, { spec: undefined, poolRange: undefined }, () => 0),
    facts: { ...EVERY_FACT, ...nodeLayouts(nodes, false, {}) },
    settings: DEFAULT_SETTINGS,
    deployed: NOTHING_DEPLOYED,
  };
}

function componentNamed(name: string) {
  const found = COMPONENTS.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(name);
  return found;
}

/** What the pods of its DaemonSets mount of the nodes. */
function mountedBy(name: string, input: RenderInput): (string | undefined)[] {
  const sets = componentNamed(name)
    .render(input)
    .filter(({ kind }) => kind === "DaemonSet") as DaemonSet[];
  return sets.flatMap(({ spec }) => spec?.template.spec?.volumes?.map(({ hostPath }) => hostPath?.path) ?? []);
}

describe("what pods mount of the nodes", () => {
  it.each(["linuxBridge", "multus", "multusDynamicNetworks", "ovs", "macvtap"])(
    "of %s is where the nodes' distribution has it, and the status says where",
    (name) => {
      const { hostPaths } = componentNamed(name);
      const at = (nodes: readonly Node[]) => hostPaths?.(inputFor(nodes)) ?? [];
      for (const nodes of [[K3S], [K0S], [TALOS], []]) {
        expect(at(nodes)).not.toEqual([]);
        expect(mountedBy(name, inputFor(nodes))).toEqual(expect.arrayContaining([...at(nodes)]));
      }
      expect(at([K3S])).not.toEqual(at([TALOS]));
    },
  );

  it("by multus are the kubelet's own directory and configuration, also where these are elsewhere", () => {
    expect(mountedBy("multus", inputFor([K0S]))).toContain("/var/lib/k0s/kubelet");
    const onK3s = mountedBy("multus", inputFor([K3S]));
    expect(onK3s).toEqual(expect.arrayContaining(["/var/lib/rancher/k3s/agent/etc/cni/net.d", "/var/lib/kubelet"]));
    expect(onK3s).not.toContain("/etc/cni/net.d");
    expect(onK3s).not.toContain("/opt/cni/bin");
  });

  it("is what the configuration says, whatever the nodes are", () => {
    const cniBinDir = "/usr/libexec/cni";
    const hostCRISocketPath = "/run/own.sock";
    const input = inputFor([K3S], { ...ALL, linuxBridge: { cniBinDir }, multusDynamicNetworks: { hostCRISocketPath } });
    expect(componentNamed("linuxBridge").hostPaths?.(input)).toEqual([cniBinDir]);
    expect(componentNamed("multusDynamicNetworks").hostPaths?.(input)).toEqual([hostCRISocketPath]);
  });

  it("is said to be wrong for the nodes of another distribution, by name and with what these need", () => {
    const input = inputFor([K3S, node("node-l", "v1.34.1+k3s1"), TALOS]);
    expect(hostPathNotes(componentNamed("linuxBridge"), input)).toEqual([
      "linuxBridge uses /var/lib/rancher/k3s/data/cni, as on most nodes (k3s). node-t (Talos) needs /opt/cni/bin: its " +
        "pods get no networks of linuxBridge",
    ]);
    const others = [TALOS, node("node-u", "v1.34.1", "Talos (v1.11.2)")];
    const several = inputFor([K3S, K3S, K3S, ...others]);
    expect(hostPathNotes(componentNamed("linuxBridge"), several)).toEqual([
      "linuxBridge uses /var/lib/rancher/k3s/data/cni, as on most nodes (k3s). node-t, node-u (Talos) need /opt/cni/bin: " +
        "their pods get no networks of linuxBridge",
    ]);
    expect(hostPathNotes(componentNamed("linuxBridge"), inputFor([K0S, TALOS]))).toEqual([]);
  });

  it("is not said to be as on most nodes where as many nodes need the other, or the configuration names it", () => {
    expect(hostPathNotes(componentNamed("linuxBridge"), inputFor([TALOS, K3S]))).toEqual([
      "linuxBridge uses /opt/cni/bin, as on 1 of 2 nodes (Talos). node-k (k3s) needs /var/lib/rancher/k3s/data/cni: its pods " +
        "get no networks of linuxBridge",
    ]);
    const docker = node("node-x", "v1.34.1", "Debian", "docker");
    const cniBinDir = "/var/lib/rancher/k3s/data/cni";
    const named = inputFor([K3S, docker, docker], { ...ALL, linuxBridge: { cniBinDir } });
    expect(hostPathNotes(componentNamed("multus"), named)).toEqual([
      "multus uses /var/lib/rancher/k3s/data/cni, /etc/cni/net.d and /var/lib/kubelet. node-k (k3s) needs " +
        "/var/lib/rancher/k3s/agent/etc/cni/net.d: its pods get no networks of multus",
    ]);
    const asked = { ...ALL, linuxBridge: { cniBinDir: "/opt/both" } };
    expect(hostPathNotes(componentNamed("linuxBridge"), inputFor([K3S, TALOS], asked))).toEqual([]);
  });

  it("is said to be wrong for nodes with another runtime's socket or another directory of the kubelet", () => {
    const crio = [node("node-c", "v1.34.1", "Debian", "cri-o"), node("node-d", "v1.34.1", "Talos (v1.11.2)", "cri-o")];
    const input = inputFor([TALOS, TALOS, K3S, ...crio]);
    const socket = "multusDynamicNetworks uses /run/containerd/containerd.sock, as on 2 of 5 nodes (Talos).";
    const end = "its pods get no networks of multusDynamicNetworks";
    expect(hostPathNotes(componentNamed("multusDynamicNetworks"), input)).toEqual([
      `${socket} node-c (Kubernetes) needs /run/crio/crio.sock: ${end}`,
      `${socket} node-d (Talos) needs /run/crio/crio.sock: ${end}`,
      `${socket} node-k (k3s) needs /run/k3s/containerd/containerd.sock: ${end}`,
    ]);
    expect(hostPathNotes(componentNamed("linuxBridge"), input)).toHaveLength(1);
    expect(hostPathNotes(componentNamed("multus"), inputFor([TALOS, TALOS, K0S]))).toEqual([
      "multus uses /opt/cni/bin, /etc/cni/net.d and /var/lib/kubelet, as on most nodes (Talos). node-0 (k0s) needs " +
        "/var/lib/k0s/kubelet: its pods get no networks of multus",
    ]);
  });

  it("is said in one sentence of all nodes of a distribution that need the same", () => {
    const docker = node("node-x", "v1.34.1+k3s1", "Debian", "docker");
    const [note, ...more] = hostPathNotes(componentNamed("linuxBridge"), inputFor([TALOS, TALOS, TALOS, K3S, docker]));
    expect(note).toContain("node-k, node-x (k3s) need /var/lib/rancher/k3s/data/cni: their pods");
    expect(more).toEqual([]);
  });

  it("leaves nodes alone whose runtime nobody knows", () => {
    const input = inputFor([TALOS, TALOS, node("node-u", "v1.34.1", "Talos (v1.11.2)", "constructor")]);
    expect(hostPathNotes(componentNamed("multusDynamicNetworks"), input)).toEqual([]);
  });

  it("is said not to last where it leads through what k3s points elsewhere at each upgrade", () => {
    const warnings = (cniBinDir: string) =>
      componentNamed("linuxBridge").warnings?.(inputFor([K3S], { linuxBridge: { cniBinDir } }));
    for (const path of ["/var/lib/rancher/k3s/data/current/bin", "/var/lib/rancher/k3s/data/current/"]) {
      expect(warnings(path)).toEqual([K3S_CURRENT_TEXT]);
    }
    expect(componentNamed("linuxBridge").warnings?.(inputFor([node("node-f", "v1.30.5+k3s1")]))).toEqual([
      K3S_CURRENT_TEXT,
    ]);
    expect(K3S_CURRENT_TEXT).toContain("From k3s 1.30.6 and 1.31.2 on");
    expect(warnings("/var/lib/rancher/k3s/data/cni")).toEqual([]);
    expect(warnings("/var/lib/rancher/k3s/data/currently")).toEqual([]);
  });
});
