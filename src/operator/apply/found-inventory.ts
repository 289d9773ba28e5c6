import { COMPONENTS, renderEverything } from "../components/registry.ts";
import type { OperatorSettings } from "../config/settings.ts";
import type { ClusterView } from "../watch/cluster-view.ts";
import { entryFor, type Inventory, type InventoryEntry, identityOf, keyOf } from "./inventory.ts";

/**
 * The inventory made anew where there is none: every object that this version can apply and that the configuration with this
 * UID owns. Its ConfigMap goes with its namespace; objects without a namespace stay.
 */
export function foundInventory(view: ClusterView, settings: OperatorSettings, ownerUid: string | undefined): Inventory {
  const entries = new Map<string, InventoryEntry>();
  for (const component of COMPONENTS) {
    for (const object of renderEverything(settings, [component])) {
      const owners = view.live(identityOf(object))?.metadata.ownerReferences ?? [];
      const isOwned = ownerUid !== undefined && owners.some(({ uid }) => uid === ownerUid);
      if (isOwned) entries.set(keyOf(object), entryFor(object, component.name));
    }
  }
  return entries;
}
