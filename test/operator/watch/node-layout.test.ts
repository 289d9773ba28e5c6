import { describe, expect, it } from "vitest";
import { CNI_BIN_DIR_PATTERN } from "../../../src/api/linux-bridge-config.ts";
import { CRI_SOCKET_PATTERN } from "../../../src/api/network-addons-config.ts";
import type { Node } from "../../../src/kube/client/built-in-kinds.ts";
import { isLaidOutLike, nodeLayouts } from "../../../src/operator/watch/node-layout.ts";
import { slimNode } from "../../../src/operator/watch/slim.ts";

interface NodeOptions {
  readonly name?: string;
  readonly runtime?: string;
  readonly kubelet?: string;
  readonly osImage?: string;
  readonly labels?: Record<string, string>;
}

function node({ name = "n", runtime = "", kubelet = "v1.36.3", osImage = "Debian", labels = {} }: NodeOptions): Node {
  const nodeInfo = { containerRuntimeVersion: runtime, kubeletVersion: kubelet, osImage };
  return slimNode({ metadata: { name, labels }, status: { nodeInfo } } as unknown as Node);
}

const KUBEADM = node({ name: "kubeadm", runtime: "containerd://2.2.2" });
const K3S = node({ name: "k3s", runtime: "containerd://2.1.4-k3s1", kubelet: "v1.34.1+k3s1" });
const TALOS = node({ name: "talos", runtime: "containerd://2.1.4", osImage: "Talos (v1.11.2)" });

describe("the layout of nodes", () => {
  it.each([
    ["Kubernetes", KUBEADM, "/opt/cni/bin", "/etc/cni/net.d", "/run/containerd/containerd.sock"],
    ["Kubernetes", node({ runtime: "cri-o://1.34.1" }), "/opt/cni/bin", "/etc/cni/net.d", "/run/crio/crio.sock"],
    ["Kubernetes", node({ runtime: "docker://28.0.1" }), "/opt/cni/bin", "/etc/cni/net.d", "/run/cri-dockerd.sock"],
    ["Talos", TALOS, "/opt/cni/bin", "/etc/cni/net.d", "/run/containerd/containerd.sock"],
    [
      "k3s",
      K3S,
      "/var/lib/rancher/k3s/data/cni",
      "/var/lib/rancher/k3s/agent/etc/cni/net.d",
      "/run/k3s/containerd/containerd.sock",
    ],
    [
      "RKE2",
      node({ runtime: "containerd://2.1.4-k3s1", kubelet: "v1.34.1+rke2r1" }),
      "/opt/cni/bin",
      "/etc/cni/net.d",
      "/run/k3s/containerd/containerd.sock",
    ],
    [
      "k0s",
      node({ runtime: "containerd://1.7.28", kubelet: "v1.34.1+k0s" }),
      "/opt/cni/bin",
      "/etc/cni/net.d",
      "/run/k0s/containerd.sock",
    ],
    [
      "MicroK8s",
      node({ runtime: "containerd://1.7.27", labels: { "microk8s.io/cluster": "true" } }),
      "/var/snap/microk8s/current/opt/cni/bin",
      "/var/snap/microk8s/current/args/cni-network",
      "/var/snap/microk8s/common/run/containerd.sock",
    ],
    [
      "GKE",
      node({ runtime: "containerd://2.0.6", kubelet: "v1.33.5-gke.1080000" }),
      "/home/kubernetes/bin",
      "/etc/cni/net.d",
      "/run/containerd/containerd.sock",
    ],
  ])("of %s is recognised", (distribution, own, cniBinDir, cniConfigDir, criSocket) => {
    const { layout, criSocket: socket } = nodeLayouts([own], false);
    expect(layout).toMatchObject({ distribution, cniBinDir, cniConfigDir });
    expect(socket).toBe(criSocket);
    // What the table says could be written into the configuration, too.
    expect(cniBinDir).toMatch(new RegExp(CNI_BIN_DIR_PATTERN));
    expect(criSocket).toMatch(new RegExp(CRI_SOCKET_PATTERN));
  });

  it("is OpenShift's where the platform says so", () => {
    for (const nodes of [[], [KUBEADM]]) {
      const openShift = { distribution: "OpenShift", cniBinDir: "/var/lib/cni/bin" };
      expect(nodeLayouts(nodes, true).layout).toMatchObject(openShift);
    }
  });

  it("is that of most nodes, the same for every order of the nodes, and names the others", () => {
    const { layout, nodesByLayout } = nodeLayouts([TALOS, K3S, { ...K3S, metadata: { name: "k3s-2" } }], false);
    expect(layout.distribution).toBe("k3s");
    expect([...nodesByLayout].map(([{ distribution }, names]) => [distribution, names])).toEqual([
      ["k3s", ["k3s", "k3s-2"]],
      ["Talos", ["talos"]],
    ]);
    expect(nodeLayouts([K3S, TALOS], false).layout).toBe(nodeLayouts([TALOS, K3S], false).layout);
    expect(nodeLayouts([K3S, KUBEADM], false).criSocket).toBe(nodeLayouts([KUBEADM, K3S], false).criSocket);
  });

  it("does not count nodes that have said nothing yet", () => {
    const silent = slimNode({ metadata: { name: "new" } } as Node);
    for (const nodes of [[], [silent]]) {
      const usual = { layout: { cniBinDir: "/opt/cni/bin" }, criSocket: undefined, nodesByLayout: new Map() };
      expect(nodeLayouts(nodes, false)).toMatchObject(usual);
    }
    expect(nodeLayouts([silent, silent, K3S], false)).toEqual(nodeLayouts([K3S], false));
    expect(nodeLayouts([silent], true)).toMatchObject({ layout: { distribution: "OpenShift" } });
    for (const named of [KUBEADM, K3S]) expect(isLaidOutLike(named, silent)).toBe(false);
    expect(isLaidOutLike(silent, slimNode({ metadata: { name: "other" } } as Node))).toBe(true);
  });

  it("is looked at again when a node says something else, and not for a new patch of the same", () => {
    const upgraded = node({ runtime: "containerd://2.3.0-k3s1", kubelet: "v1.35.0+k3s1" });
    expect(isLaidOutLike(upgraded, K3S)).toBe(true);
    expect(isLaidOutLike(K3S, slimNode({ metadata: { name: "k3s" } } as Node))).toBe(false);
    expect(isLaidOutLike(KUBEADM, node({ runtime: "cri-o://1.34.1" }))).toBe(false);
  });
});
