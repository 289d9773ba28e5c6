import { isObjectName } from "../../api/legal-names.ts";
import type { DaemonSet, Deployment } from "../../kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../kube/client/resource.ts";

/** `namespace/name`. */
export function keyOf({ metadata: { namespace = "", name = "" } }: KubeObject): string {
  return `${namespace}/${name}`;
}

/** `NAME in NAMESPACE`: with a place at which a line can end. */
export function placeOf({ metadata: { namespace = "", name = "" } }: KubeObject): string {
  return `${name} in ${namespace}`;
}

export function imagesOf({ spec }: DaemonSet | Deployment): string[] {
  return (spec?.template.spec?.containers ?? []).map(({ image = "" }) => image);
}

/** The last parts of the names of its images: `multus-cni` of `ghcr.io/k8snetworkplumbingwg/multus-cni:v4`. */
export function baseNames(workload: DaemonSet | Deployment): string[] {
  return imagesOf(workload).map((image) => repositoryOf(image).split("/").at(-1) ?? "");
}

/** An image without tag and digest. */
export function repositoryOf(image: string): string {
  return image.replace(/@.*$/, "").replace(/:[^/]*$/, "");
}

/** The ClusterServiceVersion of Operator Lifecycle Manager that a workload comes from. The API server takes any text for it. */
export function serviceVersionOf({ metadata }: KubeObject): string | undefined {
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === SERVICE_VERSION)?.name;
  const labelled = metadata.labels?.["olm.owner.kind"] === SERVICE_VERSION ? metadata.labels["olm.owner"] : undefined;
  return [owner, labelled].find((name) => name !== undefined && isObjectName(name));
}

const SERVICE_VERSION = "ClusterServiceVersion";
