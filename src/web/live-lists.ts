import { computed, signal } from "@preact/signals";
import type { CollisionView, DenialView } from "../mac-pool/inspection/rest/views.ts";
import { LiveList } from "./live-list.ts";

/** What every view shows a number of, and follows while the page is open. */

export const collisionList = new LiveList<CollisionView>("collisions", ({ mac }) => mac);
export const denialList = new LiveList<DenialView>("denials", ({ id, replica }) => `${replica}/${id}`);

/** By address. */
export const collisions = computed(() => sorted(collisionList.items.value, (a, b) => (a.mac < b.mac ? -1 : 1)));

/** Newest first. */
export const denials = computed(() => sorted(denialList.items.value, (a, b) => (a.at < b.at ? 1 : -1)));

const isVisible = signal(document.visibilityState === "visible");

export function startLiveLists(): void {
  document.addEventListener("visibilitychange", () => {
    isVisible.value = document.visibilityState === "visible";
  });
  collisionList.start(isVisible);
  denialList.start(isVisible);
}

function sorted<T>(items: ReadonlyMap<string, T> | undefined, order: (a: T, b: T) => number): readonly T[] | undefined {
  return items === undefined ? undefined : [...items.values()].sort(order);
}
