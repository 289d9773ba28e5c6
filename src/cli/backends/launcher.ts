import { isFinishedPhase } from "../../api/phase.ts";
import type { Pod } from "../../kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { instanceOf } from "../../mac-pool/objects/listed-macs.ts";

type Instance = KubeObject & {
  readonly status?: { readonly nodeName?: string; readonly activePods?: Readonly<Record<string, string>> };
};

/**
 * Of pods with the label of a launcher: those of a VMI that have not ended; the one on the node of the VMI first, as there are two during a migration. Anybody
 * can write a pod that names the VMI as its owner, so those count that KubeVirt names in the VMI, once it names any.
 */
export function launchersOf(instance: Instance, pods: readonly Pod[]): readonly Pod[] {
  const { nodeName, activePods } = instance.status ?? {};
  const named = pods.filter(
    (pod) => instanceOf(pod)?.uid === instance.metadata.uid && !isFinishedPhase(pod.status?.phase),
  );
  const active = named.filter(({ metadata }) => Object.hasOwn(activePods ?? {}, metadata.uid ?? ""));
  const launchers = active.length > 0 ? active : named;
  const isThere = (pod: Pod): number => (pod.spec?.nodeName === nodeName ? 0 : 1);
  return launchers.toSorted((one, other) => isThere(one) - isThere(other));
}
