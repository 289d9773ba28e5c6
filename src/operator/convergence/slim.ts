/** What the caches keep of nodes and pods, which are large and many. Every reader has to find its fields here. Pure. */

import type { Node, Pod } from "../../kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { isWorkload } from "./applied-kinds.ts";

export function slimNode(node: Node): Node {
  const { name, uid, resourceVersion } = node.metadata;
  return { metadata: { name, uid, resourceVersion }, status: { conditions: readyOf(node) } } as Node;
}

/** `labels`: the keys that selectors of workloads use. */
export function slimPod(pod: Pod, labels: ReadonlySet<string>): Pod {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = pod.metadata;
  const kept = Object.entries(pod.metadata.labels ?? {}).filter(([key]) => labels.has(key));
  const { initContainerStatuses, containerStatuses } = pod.status ?? {};
  const waiting = (statuses: typeof containerStatuses = []): object[] =>
    statuses.flatMap(({ name, state }) => (state?.waiting === undefined ? [] : [{ name, state }]));
  return {
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp, labels: Object.fromEntries(kept) },
    spec: { nodeName: pod.spec?.nodeName },
    status: {
      conditions: readyOf(pod),
      initContainerStatuses: waiting(initContainerStatuses),
      containerStatuses: waiting(containerStatuses),
    },
  } as Pod;
}

/** Keys of the labels by which the Deployments and DaemonSets among the objects select pods. */
export function selectorLabels(objects: readonly KubeObject[]): ReadonlySet<string> {
  const selectors = objects.filter(isWorkload).map(({ spec }) => spec as WithSelector);
  return new Set(selectors.flatMap(({ selector }) => Object.keys(selector?.matchLabels ?? {})));
}

interface WithSelector {
  readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
}

function readyOf({ status }: Node | Pod): object[] {
  const conditions: readonly { readonly type: string }[] = status?.conditions ?? [];
  return conditions.filter(({ type }) => type === "Ready");
}
