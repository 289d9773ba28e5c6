/** The downward API: fields of a pod as text. Pure. */
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";

/** What only the node knows. */
export interface PodAddresses {
  readonly podIp: string;
  readonly hostIp: string;
}

/** Throws on a path that Kubernetes does not offer here. */
export function fieldValue(pod: Pod, path: string, { podIp, hostIp }: PodAddresses): string {
  const [, map, key] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path) ?? [];
  if (key !== undefined) return pod.metadata[map as "labels" | "annotations"]?.[key] ?? "";
  switch (path) {
    case "metadata.name":
      return pod.metadata.name ?? "";
    case "metadata.namespace":
      return pod.metadata.namespace ?? "";
    case "metadata.uid":
      return pod.metadata.uid ?? "";
    case "metadata.labels":
      return lines(pod.metadata.labels);
    case "metadata.annotations":
      return lines(pod.metadata.annotations);
    case "spec.nodeName":
      return pod.spec?.nodeName ?? "";
    case "spec.serviceAccountName":
      return pod.spec?.serviceAccountName ?? "";
    case "status.podIP":
    case "status.podIPs":
      return podIp;
    case "status.hostIP":
    case "status.hostIPs":
      return hostIp;
    default:
      throw new Error(`fieldRef ${path} is not supported`);
  }
}

const lines = (map: Readonly<Record<string, string>> = {}): string =>
  Object.entries(map)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join("\n");
