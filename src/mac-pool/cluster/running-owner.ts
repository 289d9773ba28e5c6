import type { Mac } from "../../api/mac.ts";
import { isNamesake } from "../../api/mac-claim.ts";
import { isNotFound } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject, Resource } from "../../kube/client/resource.ts";
import { mayBe, type ObjectReference } from "../claims/owner.ts";
import { KINDS } from "../objects/kinds.ts";
import { instanceMacs, instanceOwner, podMacs, referenceOf } from "../objects/listed-macs.ts";
import { isFinished } from "../objects/pod-networks.ts";
import { isWaitingForSync } from "../objects/running.ts";

/** The start of a VM waits for this, and goes on without an answer soon after. */
const READ_TIMEOUT_MS = 1_000;

export interface RunningQuery {
  readonly mac: Mac;
  /** The VM that wants to run. */
  readonly asking: ObjectReference;
  readonly signal: AbortSignal;
}

/**
 * Asks the API server whether the owner of an address runs: a VM runs if its VMI exists and does not wait for a
 * migration, any other object if it exists. A
 * VM or a pod that is known only by its name prefix runs if a VMI or a pod has the address and a name with that prefix. One
 * that has the name of `asking` is what asks.
 */
export async function isRunning(
  client: KubeClient,
  owner: ObjectReference,
  { mac, asking, signal }: RunningQuery,
): Promise<boolean> {
  if (owner.name === undefined && owner.kind === "Pod") {
    const { items } = await client.list(KINDS.pods, { namespace: owner.namespace, signal });
    return items.some(
      (pod) => mayBe(owner, referenceOf("Pod", pod)) && podMacs(pod).some((entry) => entry.mac === mac),
    );
  }
  if (owner.name === undefined) {
    const { items } = await client.list(KINDS.instances, { namespace: owner.namespace, signal });
    return items.some((instance) => {
      const listed = instanceMacs(instance).some((entry) => entry.mac === mac);
      const ref = instanceOwner(instance);
      return listed && mayBe(owner, ref) && !isNamesake(asking, ref) && isOnNetwork(instance);
    });
  }
  if (owner.kind === "Pod") {
    const pod = await readObject(client, KINDS.pods, owner, signal);
    return pod !== undefined && !isFinished(pod);
  }
  const instance = await readObject(client, KINDS.instances, owner, signal);
  return instance !== undefined && mayBe(owner, instanceOwner(instance)) && isOnNetwork(instance);
}

const isOnNetwork = (instance: KubeObject): boolean => !isFinished(instance) && !isWaitingForSync(instance);

/** Undefined when there is none. Waits no longer than the start of a VM may. */
export async function readObject(
  client: KubeClient,
  resource: Resource,
  { name = "", namespace }: ObjectReference,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  try {
    return await client.get(resource, { name, namespace }, { signal, timeoutMs: READ_TIMEOUT_MS });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
