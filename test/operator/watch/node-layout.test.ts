import { describe, expect, it } from "vitest";
import { CNI_BIN_DIR_PATTERN } from "../../../src/api/linux-bridge-config.ts";
import { CRI_SOCKET_PATTERN } from "../../../src/api/network-addons-config.ts";
import type { Node } from "../../../src/kube/client/built-in-kinds.ts";
import { isLaidOutLike, LAYOUT_LABELS, nodeLayouts } from "../../../src/operator/watch/node-layout.ts";
import { slimNode } from "../../../src/operator/watch/slim.ts";

interface NodeOptions {
  readonly name?: string;
  readonly runtime?: string;
  readonly kubelet?: string;
  readonly osImage?: string;
  readonly os?: string;
  readonly labels?: Record<string, string>;
}

const KEYS = new Set([...LAYOUT_LABELS, "zone"]);
const LINUX = { "kubernetes.io/os": "linux" };

function node(options: NodeOptions): Node {
  const { name = "n", runtime = "", kubelet = "v1.36.3", osImage = "Debian", os, labels = {} } = options;
  const nodeInfo = { containerRuntimeVersion: runtime, kubeletVersion: kubelet, osImage, operatingSystem: os };
  return slimNode({ metadata: { name, labels }, status: { nodeInfo } } as unknown as Node, KEYS);
}

function layoutsOf(nodes: readonly Node[], openShift = false, selector: Record<string, string> = LINUX) {
  return nodeLayouts(nodes, openShift, selector);
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
      node({
        runtime: "containerd://2.0.6",
        kubelet: "v1.33.5-gke.1080000",
        labels: { "cloud.google.com/gke-nodepool": "default-pool" },
      }),
      "/home/kubernetes/bin",
      "/etc/cni/net.d",
      "/run/containerd/containerd.sock",
    ],
  ])("of %s is recognised", (distribution, own, cniBinDir, cniConfigDir, criSocket) => {
    const { layout, criSocket: socket } = layoutsOf([own]);
    expect(layout).toMatchObject({ distribution, cniBinDir, cniConfigDir });
    expect(socket).toBe(criSocket);
    // What the table says could be written into the configuration, too.
    expect(cniBinDir).toMatch(new RegExp(CNI_BIN_DIR_PATTERN));
    expect(criSocket).toMatch(new RegExp(CRI_SOCKET_PATTERN));
  });

  it("is OpenShift's where the platform says so", () => {
    for (const nodes of [[], [KUBEADM]]) {
      const openShift = { distribution: "OpenShift", cniBinDir: "/var/lib/cni/bin" };
      expect(layoutsOf(nodes, true).layout).toMatchObject(openShift);
    }
  });

  it("is that of most nodes, the same for every order of the nodes, and names the others", () => {
    const { layout, distributions, groups } = layoutsOf([TALOS, K3S, { ...K3S, metadata: { name: "k3s-2" } }]);
    expect(layout.distribution).toBe("k3s");
    expect(distributions).toEqual(["k3s", "Talos"]);
    expect(groups.map(({ nodes }) => nodes)).toEqual([["k3s", "k3s-2"], ["talos"]]);
    expect(layoutsOf([K3S, TALOS]).layout).toBe(layoutsOf([TALOS, K3S]).layout);
    expect(layoutsOf([K3S, KUBEADM]).criSocket).toBe(layoutsOf([KUBEADM, K3S]).criSocket);
  });

  it("does not count nodes that have said nothing yet", () => {
    const silent = slimNode({ metadata: { name: "new" } } as Node, KEYS);
    for (const nodes of [[], [silent]]) {
      const usual = { layout: { cniBinDir: "/opt/cni/bin" }, criSocket: undefined, distributions: [], groups: [] };
      expect(layoutsOf(nodes)).toMatchObject(usual);
    }
    expect(layoutsOf([silent, silent, K3S])).toEqual(layoutsOf([K3S]));
    expect(layoutsOf([silent], true)).toMatchObject({ layout: { distribution: "OpenShift" } });
    for (const named of [KUBEADM, K3S]) expect(isLaidOutLike(named, silent)).toBe(false);
    expect(isLaidOutLike(silent, slimNode({ metadata: { name: "other" } } as Node, KEYS))).toBe(true);
  });

  it("is looked at again when a node says something else, and not for a new patch of the same", () => {
    const upgraded = node({ runtime: "containerd://2.3.0-k3s1", kubelet: "v1.35.0+k3s1" });
    expect(isLaidOutLike(upgraded, K3S)).toBe(true);
    expect(isLaidOutLike(K3S, slimNode({ metadata: { name: "k3s" } } as Node, KEYS))).toBe(false);
    expect(isLaidOutLike(KUBEADM, node({ runtime: "cri-o://1.34.1" }))).toBe(false);
    const moved = node({ runtime: "containerd://2.2.2", labels: { zone: "b" } });
    for (const one of [KUBEADM, node({ runtime: "containerd://2.2.2", labels: { zone: "a" } })]) {
      expect(isLaidOutLike(moved, one)).toBe(false);
      expect(isLaidOutLike(one, moved)).toBe(false);
    }
  });

  it.each([
    ["v1.27.16+k3s1", true],
    ["v1.30.5+k3s2", true],
    ["v1.30.6-rc1+k3s1", false],
    ["v1.30.14+k3s1", false],
    ["v1.31.1+k3s1", true],
    ["v1.31.2+k3s1", false],
    ["v1.32.0+k3s1", false],
  ])("of k3s is by the kubelet's version: %s has its plugins in data/current/bin: %s", (kubelet, isFormer) => {
    const { layout, criSocket } = layoutsOf([node({ kubelet, runtime: "containerd://1.7.22-k3s1" })]);
    const directory = `/var/lib/rancher/k3s/data/${isFormer ? "current/bin" : "cni"}`;
    expect(layout).toMatchObject({ distribution: "k3s", cniBinDir: directory });
    expect(layout.cniConfigDir).toBe("/var/lib/rancher/k3s/agent/etc/cni/net.d");
    expect(criSocket).toBe("/run/k3s/containerd/containerd.sock");
  });

  it("is looked at again when an upgrade of k3s moves the plugins, and is one distribution meanwhile", () => {
    const former = node({ name: "k3s-0", kubelet: "v1.31.1+k3s1", runtime: "containerd://1.7.22-k3s1" });
    expect(isLaidOutLike(K3S, former)).toBe(false);
    for (const nodes of [
      [K3S, former],
      [former, K3S],
    ]) {
      expect(layoutsOf(nodes)).toMatchObject({
        distributions: ["k3s"],
        layout: { cniBinDir: "/var/lib/rancher/k3s/data/cni" },
      });
    }
  });

  it("does not follow nodes that can't run the components' pods", () => {
    const gke = { kubelet: "v1.33.5-gke.1080000", runtime: "docker://28.0.1" };
    const pool = { "cloud.google.com/gke-nodepool": "p" };
    const others = [
      node({ ...gke, labels: { ...pool, "kubernetes.io/os": "windows" } }),
      node({ ...gke, os: "windows", labels: pool }),
      node({ ...gke, labels: { ...pool, ...LINUX, type: "virtual-kubelet" } }),
    ];
    for (const selector of [LINUX, {}]) {
      const own = [
        node({ runtime: "containerd://2.2.2", labels: LINUX }),
        node({ runtime: "containerd://2.2.2", os: "linux" }),
      ];
      expect(layoutsOf([...others, ...own], false, selector)).toEqual(layoutsOf(own, false, selector));
      expect(layoutsOf(others, false, selector)).toEqual(layoutsOf([]));
      expect(layoutsOf(others, true, selector).distributions).toEqual([]);
    }
  });

  it("is that of the nodes that the workloads' nodeSelector selects", () => {
    const [a, b] = ["a", "b"].map((zone) => ({ labels: { ...LINUX, zone } }));
    const nodes = [node({ ...a, kubelet: "v1.34.1+k3s1" }), node({ ...b, name: "n1" }), node({ ...b, name: "n2" })];
    expect(layoutsOf(nodes, false, { zone: "a" }).layout.distribution).toBe("k3s");
    expect(layoutsOf(nodes, false, { zone: "b", ...LINUX }).distributions).toEqual(["Kubernetes"]);
    expect(layoutsOf(nodes, false, { zone: "c" }).groups).toEqual([]);
    expect(layoutsOf(nodes, false, { constructor: "a" }).groups).toEqual([]);
  });

  it("is Google's only in its own cloud, and MicroK8s' only where the label is true", () => {
    const usual = layoutsOf([KUBEADM]).layout;
    expect(layoutsOf([node({ kubelet: "v1.33.5-gke.1080000" })]).layout).toBe(usual);
    expect(layoutsOf([node({ labels: { "cloud.google.com/gke-nodepool": "p" } })]).layout).toBe(usual);
    expect(layoutsOf([node({ labels: { "microk8s.io/cluster": "false" } })]).layout).toBe(usual);
  });

  it("has no socket for a runtime that nobody knows", () => {
    expect(layoutsOf([node({ runtime: "constructor://1.0" })]).criSocket).toBeUndefined();
  });
});
