/** A cluster of real nodes as a control plane, for what needs no more than its API server. The cluster outlives it. */

import { dirname } from "node:path";
import { ControlPlaneAccess, type ControlPlanePlace } from "../cluster/control-plane/access.ts";
import type { NodeCluster } from "./node-cluster.ts";

export class NodeClusterAccess extends ControlPlaneAccess {
  private constructor(place: ControlPlanePlace) {
    super(place);
  }

  static async to(cluster: NodeCluster): Promise<NodeClusterAccess> {
    const authority = await cluster.authority();
    const { url, kubectlPath, kubeconfig } = cluster;
    // Its etcd can't be reached from outside.
    return new NodeClusterAccess({ url, kubectlPath, authority, directory: dirname(kubeconfig), etcdUrl: "" });
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
