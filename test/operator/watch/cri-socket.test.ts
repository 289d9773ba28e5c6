import { describe, expect, it } from "vitest";
import type { Node } from "../../../src/kube/client/built-in-kinds.ts";
import { criSocketPath } from "../../../src/operator/watch/cri-socket.ts";
import { slimNode } from "../../../src/operator/watch/slim.ts";

const node = (containerRuntimeVersion: string, kubeletVersion = "v1.36.3") =>
  slimNode({ metadata: { name: "n" }, status: { nodeInfo: { containerRuntimeVersion, kubeletVersion } } } as Node);

describe("the socket of the container runtime", () => {
  it.each([
    ["cri-o://1.34.1", "v1.34.1", "/run/crio/crio.sock"],
    ["containerd://2.2.2", "v1.36.3", "/run/containerd/containerd.sock"],
    ["containerd://2.1.4-k3s1", "v1.34.1+k3s1", "/run/k3s/containerd/containerd.sock"],
    ["containerd://2.1.4-k3s1", "v1.34.1+rke2r1", "/run/k3s/containerd/containerd.sock"],
    ["docker://28.0.1", "v1.34.1", undefined],
    ["", "", undefined],
  ])("of a node with %s and kubelet %s is %s", (runtime, kubelet, path) => {
    expect(criSocketPath([node(runtime, kubelet)])).toBe(path);
  });

  it("is that of most nodes, and the same for every order of the nodes", () => {
    const [crio, containerd] = [node("cri-o://1.34.1"), node("containerd://2.2.2")];
    expect(criSocketPath([crio, containerd, crio])).toBe("/run/crio/crio.sock");
    expect(criSocketPath([crio, containerd])).toBe(criSocketPath([containerd, crio]));
    expect(criSocketPath([node("docker://28.0.1"), containerd])).toBe("/run/containerd/containerd.sock");
    expect(criSocketPath([])).toBeUndefined();
  });
});
