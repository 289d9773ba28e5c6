import type { KubeObject } from "../../src/kube/client/resource.ts";
import { keyOf } from "../support/object-store.ts";
import { Violation } from "./audit.ts";
import { type HolderKind, macsHeld } from "./objects.ts";
import type { World } from "./world.ts";

interface Given {
  readonly granted: readonly string[];
  /** Of these, what the pool chose. */
  readonly chosen: ReadonlySet<string>;
}

/**
 * What can't have had an address before, an object without a name, gets none by hand that the policy of its pool forbids, also to
 * receive a live migration.
 */
export function checkGivenByHand(
  { plan, tenancy }: World,
  kind: HolderKind,
  object: KubeObject,
  { granted, chosen }: Given,
): void {
  const { name, namespace = "" } = object.metadata;
  if (name !== undefined || plan.explicitAddresses === "Anywhere") return;
  // A namespace without a pool may ask for any address.
  if (plan.trouble.recreatePool > 0) return;
  const isAllowed = (mac: string): boolean =>
    plan.explicitAddresses === "OwnPool" ? tenancy.hasServed(namespace, mac) : !tenancy.wasAlwaysInRange(mac);
  for (const mac of granted) {
    if (chosen.has(mac) || isAllowed(mac)) continue;
    throw new Violation("explicit", `${kind} in ${namespace} was given ${mac}, which the policy of its pool forbids`);
  }
}

/**
 * No change is refused by that policy where the object lists all of its addresses already and has been given them, whether or not it
 * waits or waited.
 */
export function checkKept({ auditor }: World, old: KubeObject | undefined, asked: KubeObject): void {
  if (old === undefined) return;
  const id = `${old.kind} ${keyOf(old.metadata)}`;
  const had = new Set(macsHeld(old));
  const isGiven = (mac: string): boolean =>
    auditor
      .holdersOf(mac)
      .some((holding) => holding.id === id && holding.granted.has(mac) && !auditor.isLost(mac, holding));
  if (macsHeld(asked).some((mac) => !had.has(mac) || !isGiven(mac))) return;
  throw new Violation("explicit", `${keyOf(old.metadata)} was refused an address that it has`);
}
