/** Keys and kubeconfigs of a node, as its administrator would put them there. */
import type { Authority, KeyPair } from "../cluster/control-plane/authority.ts";
import { renderKubeconfig } from "../cluster/control-plane/kubeconfig.ts";
import type { NodePlan } from "../cluster/network-plan.ts";
import { KUBERNETES_DIRECTORY, type NodeFile } from "./node-config.ts";

/** Kubernetes' own ClusterRoleBinding `system:node-proxier` names this user. */
const KUBE_PROXY_USER = "system:kube-proxy";

export async function credentialFiles(authority: Authority, node: NodePlan, server: string): Promise<NodeFile[]> {
  const kubelet = await authority.issue({
    commonName: `system:node:${node.name}`,
    groups: ["system:nodes"],
    dnsNames: [node.name],
    addresses: [node.address],
    usage: ["client", "server"],
  });
  const kubeProxy = await authority.issue({ commonName: KUBE_PROXY_USER, usage: ["client"] });
  const kubeconfig = (user: string, credentials: KeyPair): string =>
    renderKubeconfig({ server, caCertificate: authority.certificate, user, credentials });
  return [
    [`${KUBERNETES_DIRECTORY}/ca.crt`, authority.certificate],
    [`${KUBERNETES_DIRECTORY}/kubelet.crt`, kubelet.cert],
    [`${KUBERNETES_DIRECTORY}/kubelet.key`, kubelet.key],
    [`${KUBERNETES_DIRECTORY}/kubelet.kubeconfig`, kubeconfig(`system:node:${node.name}`, kubelet)],
    [`${KUBERNETES_DIRECTORY}/kube-proxy.kubeconfig`, kubeconfig(KUBE_PROXY_USER, kubeProxy)],
  ];
}
