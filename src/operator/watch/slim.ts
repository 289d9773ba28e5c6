/** What the caches keep of nodes, pods and CRDs, which are large or many. Every reader has to find its fields here. Pure. */

import type { CustomResourceDefinition, Namespace, Node, Pod } from "../../kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { isWorkload } from "../apply/applied-kinds.ts";

/** `keys`: of the labels that are kept. Nodes have hundreds of labels where KubeVirt describes their processors. */
export function slimNode(node: Node, keys: ReadonlySet<string>): Node {
  const { name, uid, resourceVersion, labels: all = {} } = node.metadata;
  const labels = Object.fromEntries(Object.entries(all).filter(([key]) => keys.has(key)));
  const { containerRuntimeVersion, kubeletVersion, operatingSystem, osImage } = node.status?.nodeInfo ?? {};
  const conditions = conditionsOf(node).filter(({ type }) => type === "Ready");
  const nodeInfo = { containerRuntimeVersion, kubeletVersion, operatingSystem, osImage };
  return { metadata: { name, uid, resourceVersion, labels }, status: { conditions, nodeInfo } } as Node;
}

export function slimDefinition(definition: CustomResourceDefinition): CustomResourceDefinition {
  const { name, uid, resourceVersion, deletionTimestamp } = definition.metadata;
  const conditions = definition.status?.conditions;
  const metadata = { name, uid, resourceVersion, deletionTimestamp };
  return { metadata, status: { conditions } } as CustomResourceDefinition;
}

export function slimNamespace(namespace: Namespace): Namespace {
  const { name, uid, resourceVersion, labels } = namespace.metadata;
  return { metadata: { name, uid, resourceVersion, labels } } as Namespace;
}

/** `labels`: the keys that selectors of workloads use. */
export function slimPod(pod: Pod, labels: ReadonlySet<string>): Pod {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp } = pod.metadata;
  const kept = Object.entries(pod.metadata.labels ?? {}).filter(([key]) => labels.has(key));
  const { phase, initContainerStatuses, containerStatuses } = pod.status ?? {};
  return {
    metadata: {
      ...{ name, namespace, uid, resourceVersion, creationTimestamp, labels: Object.fromEntries(kept) },
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    spec: { nodeName: pod.spec?.nodeName },
    status: {
      phase,
      conditions: conditionsOf(pod),
      initContainerStatuses: remarkable(initContainerStatuses),
      containerStatuses: remarkable(containerStatuses),
    },
  } as Pod;
}

type ContainerStatuses = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>;

/** Of containers that wait, or that have ended before. */
function remarkable(statuses: ContainerStatuses = []): object[] {
  return statuses
    .filter(({ state, restartCount }) => state?.running === undefined || restartCount > 0)
    .map(({ name, state, lastState, restartCount }) => ({ name, state, lastState, restartCount }));
}

/** Keys of the labels by which the Deployments and DaemonSets among the objects select pods. */
export function selectorLabels(objects: readonly KubeObject[]): ReadonlySet<string> {
  const selectors = objects.filter(isWorkload).map(({ spec }) => spec as WithSelector);
  return new Set(selectors.flatMap(({ selector }) => Object.keys(selector?.matchLabels ?? {})));
}

interface WithSelector {
  readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
}

interface Condition {
  readonly type: string;
  readonly status: string;
}

function conditionsOf({ status }: Node | Pod): Condition[] {
  const conditions: readonly Condition[] = status?.conditions ?? [];
  return conditions.filter(
    ({ type, status: value }) => type === "Ready" || (type === "PodScheduled" && value === "False"),
  );
}
