/** The steps from the cluster's state to the wanted state. Pure. */

import { LABEL_MANAGED_BY, LABEL_VERSION, MANAGED_BY, NAD_GROUP } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import {
  APPLY_STAGES,
  type ApplyStage,
  appliedKind,
  findAppliedKind,
  REMOVE_STAGES,
  type RemoveStage,
} from "./applied-kinds.ts";
import { fingerprintOf, type Inventory, type InventoryEntry, keyOf } from "./inventory.ts";

export interface PlannedObject {
  readonly object: KubeObject;
  readonly key: string;
  readonly fingerprint: string;
}

export function planned(object: KubeObject): PlannedObject {
  return { object, key: keyOf(object), fingerprint: fingerprintOf(object) };
}

/** Objects by stage of apply, in order, without empty stages. */
export function applyOrder(objects: readonly PlannedObject[]): { stage: ApplyStage; objects: PlannedObject[] }[] {
  return APPLY_STAGES.map((stage) => ({
    stage,
    objects: objects.filter(({ object }) => appliedKind(object).stage === stage),
  })).filter(({ objects: staged }) => staged.length > 0);
}

/** Whether the object must be applied, whatever it looks like. `isApplied`: as it is wanted now. */
export function needsApply(wanted: PlannedObject, live: KubeObject | undefined, isApplied: boolean): boolean {
  if (live === undefined) return true;
  // It is being deleted. The end of the deletion is an event, and then it is missing.
  if (live.metadata.deletionTimestamp !== undefined) return false;
  // Its owner writes the data. Here it only has to exist.
  if (wanted.object.kind === "Secret") return false;
  return !isApplied && !isLeftToOthers(live, wanted);
}

/**
 * The release may install CRDs ahead of this operator. A newer CRD is left alone; otherwise old and new operator would
 * fight over it during an upgrade. So is a kind that several projects use: who came first keeps it in its own version.
 */
export function isLeftToOthers(live: KubeObject, { object }: PlannedObject): boolean {
  if (object.kind !== "CustomResourceDefinition") return false;
  const { labels } = live.metadata;
  const isShared = (live.spec as { readonly group?: string }).group === NAD_GROUP;
  if (isShared && labels?.[LABEL_MANAGED_BY] !== MANAGED_BY) return true;
  return compareVersions(labels?.[LABEL_VERSION], object.metadata.labels?.[LABEL_VERSION]) > 0;
}

/** Applied objects that are no longer wanted, in the order of removal. Objects with users' data are never in it. */
export function removals(
  inventory: Inventory,
  wanted: ReadonlySet<string>,
): { stage: RemoveStage; entries: { key: string; entry: InventoryEntry }[] }[] {
  const unwanted = [...inventory].filter(([key]) => !wanted.has(key)).map(([key, entry]) => ({ key, entry }));
  return REMOVE_STAGES.map((stage) => ({
    stage,
    entries: unwanted.filter(({ entry }) => findAppliedKind(entry)?.removal === stage),
  })).filter(({ entries }) => entries.length > 0);
}

function compareVersions(left: string | undefined, right: string | undefined): number {
  const numbers = (version = "") => (version.match(/\d+/g) ?? []).slice(0, 3).map(Number);
  const [a, b] = [numbers(left), numbers(right)];
  for (let index = 0; index < 3; index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
