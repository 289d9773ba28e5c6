/** The container runtime's socket on the nodes, from what the nodes say about themselves. Pure. */

import type { CRI_SOCKET_PATHS } from "../../api/network-addons-config.ts";
import type { Node } from "../../kube/client/built-in-kinds.ts";

type SocketPath = (typeof CRI_SOCKET_PATHS)[number];

/** The one that most nodes have, because a DaemonSet mounts one. Undefined where no node has a runtime with a known socket. */
export function criSocketPath(nodes: readonly Node[]): string | undefined {
  const counts = new Map<SocketPath, number>();
  for (const node of nodes) {
    const path = socketOf(node);
    if (path !== undefined) counts.set(path, (counts.get(path) ?? 0) + 1);
  }
  const [first] = [...counts].sort(([a, left], [b, right]) => right - left || (a < b ? -1 : 1));
  return first?.[0];
}

/** K3s and RKE2 run a containerd of their own. */
function socketOf({ status }: Node): SocketPath | undefined {
  const { containerRuntimeVersion = "", kubeletVersion = "" } = status?.nodeInfo ?? {};
  if (containerRuntimeVersion.startsWith("cri-o://")) return "/run/crio/crio.sock";
  if (!containerRuntimeVersion.startsWith("containerd://")) return undefined;
  return /\+(k3s|rke2)/.test(kubeletVersion)
    ? "/run/k3s/containerd/containerd.sock"
    : "/run/containerd/containerd.sock";
}
