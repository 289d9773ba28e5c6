import type { Mac } from "../../../api/mac.ts";
import { isNamesake } from "../../../api/mac-claim.ts";
import { WAIT_AS_RECEIVER } from "../../../api/mac-pool-scope.ts";
import { textAt } from "../../../kube/json-path.ts";
import { statusOf } from "../../claims/claim.ts";
import { areApart } from "../../claims/layer2-domain.ts";
import type { InterfaceOwner } from "../../claims/owner.ts";
import type { RunningAt } from "../../cluster/running-now.ts";
import { isFinished } from "../../objects/pod-networks.ts";
import { isWaitingForSync, runningInstance, runningPod } from "../../objects/running.ts";
import type { UsedNowView } from "../rest/views.ts";
import type { Catalog } from "./catalog.ts";
import { isSameObject, partyViews } from "./collisions.ts";
import { type Scope, seen } from "./scope.ts";

/** An object, and its interface with the address. */
export type Asking = Pick<InterfaceOwner, "kind" | "namespace" | "network" | "domains"> & { readonly name: string };

/**
 * Who uses an address of an object that does not run: what runs with it, and what `DenyRunning` takes for running because it
 * exists. Undefined where nobody does; and where the object runs itself, as the list of collisions tells it then.
 */
export function usedNow(mac: Mac, self: Asking, catalog: Catalog, scope: Scope): UsedNowView | undefined {
  const { caches } = catalog;
  if (self.kind === "Pod" || isOnItsWay(self, catalog)) return undefined;
  const running = caches.running(mac);
  const known = [...running, ...startingWith(mac, catalog, running)];
  if (known.some((party) => isSameObject(self, party))) return undefined;
  const own = caches.networks.cached(self);
  const others = known.filter((party) => !areApart(own, caches.networks.cached(party)));
  if (others.length === 0) return undefined;
  const { visible, elsewhere } = seen(scope, others);
  const starting = new Set(visible.filter((party) => !running.includes(party)).map(({ uid }) => uid));
  const parties = partyViews(mac, visible, catalog).map((view, index) =>
    starting.has(visible[index]?.uid ?? "") ? { ...view, notRunningYet: true as const } : view,
  );
  const isSaid = others.every(({ saidBy }) => saidBy !== undefined);
  return { parties, elsewhere, ...(isSaid ? { isSaid } : {}) };
}

/** It is being started, or waits for the guest that has the address to come. */
function isOnItsWay({ namespace, name }: Asking, { caches }: Catalog): boolean {
  const key = `${namespace}/${name}`;
  const instance = caches.instances.get(key);
  const waits = textAt(caches.machines.get(key), "spec", "runStrategy") === WAIT_AS_RECEIVER;
  return waits || isWaitingForSync(instance);
}

/** Objects that exist, and run with the address once they have a node. */
function startingWith(mac: Mac, { caches, claims }: Catalog, running: readonly RunningAt[]): RunningAt[] {
  const claim = claims.get(mac);
  const listing = caches.objectsListing(mac).filter(({ countsAsOwner }) => countsAsOwner);
  const owners = claim === undefined ? [] : statusOf(claim).owners.filter(caches.isManagedOwner);
  const found: RunningAt[] = [];
  for (const { kind, namespace, name = "", interface: nic, network, domains = [] } of [...owners, ...listing]) {
    const key = `${namespace}/${name}`;
    const object = (kind === "Pod" ? caches.pods : caches.instances).get(key);
    if (object === undefined || isFinished(object) || isWaitingForSync(object)) continue;
    const party = kind === "Pod" ? runningPod(object) : runningInstance(object);
    if ([...running, ...found].some((one) => isNamesake(one, party))) continue;
    found.push({ ...party, isManaged: true, interface: nic, network, domains });
  }
  return found;
}
