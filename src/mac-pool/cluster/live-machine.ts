import { WAIT_AS_RECEIVER } from "../../api/mac-pool-scope.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { at, textAt } from "../../kube/json-path.ts";
import { isSameObject, type ObjectReference } from "../claims/owner.ts";
import { KINDS } from "../objects/kinds.ts";
import { type AttachedMac, attachedMacs, instanceOwner, referenceOf } from "../objects/listed-macs.ts";
import { isFinished } from "../objects/pod-networks.ts";
import { readObject } from "./running-owner.ts";

/** Addresses that the VM lists, asked live; undefined when there is no such VM. */
export async function macsOfMachine(
  client: KubeClient,
  vm: ObjectReference,
  signal: AbortSignal,
): Promise<readonly AttachedMac[] | undefined> {
  const machine = await readObject(client, KINDS.virtualMachines, vm, signal);
  if (machine === undefined || !isSameObject(referenceOf("VirtualMachine", machine), vm)) return undefined;
  return attachedMacs(machine);
}

/** Whether the VM waits to receive another one by live migration, asked live: its run strategy says so. */
export async function isReceiver(client: KubeClient, vm: ObjectReference, signal: AbortSignal): Promise<boolean> {
  const machine = await readObject(client, KINDS.virtualMachines, vm, signal);
  if (machine === undefined || !isSameObject(referenceOf("VirtualMachine", machine), vm)) return false;
  return textAt(machine, "spec", "runStrategy") === WAIT_AS_RECEIVER;
}

/** Whether the VM has received another one: virt-controller says so in its instance, which tenants can't write. */
export async function hasReceived(client: KubeClient, vm: ObjectReference, signal: AbortSignal): Promise<boolean> {
  const instance = await readObject(client, KINDS.instances, vm, signal);
  if (instance === undefined || isFinished(instance) || !isSameObject(instanceOwner(instance), vm)) return false;
  const migration = at(instance, "status", "migrationState");
  return at(migration, "completed") === true && at(migration, "failed") !== true;
}
