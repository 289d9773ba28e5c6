import { DEFAULT_NAMESPACE, OPERATOR_NAME } from "../../../src/api/names.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { KEPT } from "./text-format.ts";

/** One Deployment or DaemonSet of the product, as far as readiness goes. */
export interface Workload {
  readonly kind: "Deployment" | "DaemonSet";
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly ready: number;
  readonly desired: number;
}

/** What the operator has deployed: everything in its namespace but itself. */
export async function workloads(client: KubeClient): Promise<Workload[]> {
  const [deployments, daemonSets] = await Promise.all([
    client.list(RESOURCES.deployments, { namespace: DEFAULT_NAMESPACE }),
    client.list(RESOURCES.daemonSets, { namespace: DEFAULT_NAMESPACE }),
  ]);
  return [
    ...deployments.items.map((each) => ({
      ...identity("Deployment", each.metadata),
      ready: each.status?.readyReplicas ?? 0,
      desired: each.spec?.replicas ?? 1,
    })),
    ...daemonSets.items.map((each) => ({
      ...identity("DaemonSet", each.metadata),
      ready: each.status?.numberReady ?? 0,
      desired: each.status?.desiredNumberScheduled ?? 0,
    })),
  ].filter(({ name }) => name !== OPERATOR_NAME);
}

const identity = <Kind extends Workload["kind"]>(
  kind: Kind,
  metadata: {
    readonly name?: string | undefined;
    readonly uid?: string | undefined;
    readonly generation?: number | undefined;
  },
) => ({ kind, name: metadata.name ?? "", uid: metadata.uid ?? "", generation: metadata.generation ?? 0 });

export const isReady = ({ ready, desired }: Workload): boolean => desired > 0 && ready === desired;

export const describe = ({ name, ready, desired }: Workload): string => `${name}${KEPT}${ready}/${desired}`;
