/** What has to be done to get from what is in the cluster to what is wanted. Pure. */

import { LABEL_VERSION } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import {
  APPLY_STAGES,
  type ApplyStage,
  appliedKind,
  findAppliedKind,
  REMOVE_STAGES,
  type RemoveStage,
} from "./applied-kinds.ts";
import { covers } from "./drift.ts";
import { fingerprintOf, type Inventory, type InventoryEntry, keyOf } from "./inventory.ts";

export interface PlannedObject {
  readonly object: KubeObject;
  readonly key: string;
  readonly fingerprint: string;
}

export function planned(object: KubeObject): PlannedObject {
  return { object, key: keyOf(object), fingerprint: fingerprintOf(object) };
}

/** Objects by the stage they are applied in, stages in order, empty ones left out. */
export function applyOrder(objects: readonly PlannedObject[]): { stage: ApplyStage; objects: PlannedObject[] }[] {
  return APPLY_STAGES.map((stage) => ({
    stage,
    objects: objects.filter(({ object }) => appliedKind(object).stage === stage),
  })).filter(({ objects: staged }) => staged.length > 0);
}

/** Whether the object has to be sent. */
export function needsApply(
  wanted: PlannedObject,
  live: KubeObject | undefined,
  entry: InventoryEntry | undefined,
): boolean {
  if (live === undefined) return true;
  // On its way out: its deletion is an event of its own, and then it is missing.
  if (live.metadata.deletionTimestamp !== undefined) return false;
  // Whoever it belongs to writes the data; all that matters here is that it exists.
  if (wanted.object.kind === "Secret") return false;
  if (wanted.object.kind === "CustomResourceDefinition") return needsNewDefinition(live, wanted.object);
  return entry?.fingerprint !== wanted.fingerprint || !covers(live, wanted.object);
}

/** What was applied once and is not wanted now, in the order in which it goes. What holds data is never in it. */
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

/**
 * Definitions may also be installed with the release, ahead of this operator: a newer one is left alone, or old and new
 * operator would fight over it during an upgrade.
 */
function needsNewDefinition(live: KubeObject, wanted: KubeObject): boolean {
  const order = compareVersions(live.metadata.labels?.[LABEL_VERSION], wanted.metadata.labels?.[LABEL_VERSION]);
  return order < 0 || (order === 0 && !covers(live.spec, wanted.spec));
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
