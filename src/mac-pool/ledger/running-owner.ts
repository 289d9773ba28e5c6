import type { Mac } from "../../api/mac.ts";
import { isNotFound } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject, Resource } from "../../kube/client/resource.ts";
import { mayBe, type Party, sameParty } from "../core/party.ts";
import { instanceMacs, instanceParty, partyOf } from "../objects/holders.ts";
import { KINDS } from "../objects/kinds.ts";
import { isFinished } from "../objects/pod-networks.ts";

/** The start of a VM waits for this, and goes on without an answer soon after. */
const READ_TIMEOUT_MS = 1_000;

/**
 * Asks the API server whether the owner of an address runs: a VM by its VMI, anything else by being there. A VM that is
 * known by its name prefix only, because nobody has seen it yet, by any VMI that has the address and may be its.
 */
export async function isRunning(client: KubeClient, owner: Party, mac: Mac, signal: AbortSignal): Promise<boolean> {
  if (owner.name === undefined) {
    const { items } = await client.list(KINDS.instances, { namespace: owner.namespace, signal });
    return items.some((instance) => {
      const listed = instanceMacs(instance).some((entry) => entry.mac === mac);
      return listed && mayBe(owner, instanceParty(instance)) && !isFinished(instance);
    });
  }
  if (owner.kind === "Pod") {
    const pod = await read(client, KINDS.pods, owner, signal);
    return pod !== undefined && sameParty(partyOf("Pod", pod), owner) && !isFinished(pod);
  }
  const instance = await read(client, KINDS.instances, owner, signal);
  return instance !== undefined && sameParty(instanceParty(instance), owner) && !isFinished(instance);
}

async function read(
  client: KubeClient,
  resource: Resource,
  { name = "", namespace }: Party,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  try {
    return await client.get(resource, { name, namespace }, { signal, timeoutMs: READ_TIMEOUT_MS });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
