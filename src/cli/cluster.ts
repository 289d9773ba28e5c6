import { MAC_CLAIMS, MAC_POOLS, VIRTUAL_MACHINE_INSTANCES } from "../api/kinds.ts";
import { claimName, type Mac } from "../api/mac.ts";
import type { ClaimOwner, MACClaim } from "../api/mac-claim.ts";
import type { MACPool } from "../api/mac-pool.ts";
import { LAUNCHER_SELECTOR } from "../api/names.ts";
import { isForbidden, isNotFound } from "../kube/client/api-error.ts";
import type { Pod } from "../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type KubeObject, RESOURCES, type Resource } from "../kube/client/resource.ts";

const CLAIMS: Resource<MACClaim> = MAC_CLAIMS;
const POOLS: Resource<MACPool> = MAC_POOLS;
const INSTANCES: Resource<KubeObject & { readonly status?: { readonly nodeName?: string } }> =
  VIRTUAL_MACHINE_INSTANCES;

export interface Place {
  readonly node: string;
  readonly pod: string;
}

/** What the commands read from the cluster. */
export class Cluster {
  readonly #client: KubeClient;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Sorted by address. */
  async claims(): Promise<MACClaim[]> {
    const { items } = await this.#client.list(CLAIMS, { managedFields: false });
    return items.sort((a, b) => (a.spec.mac < b.spec.mac ? -1 : 1));
  }

  async claim(mac: Mac): Promise<MACClaim | undefined> {
    try {
      return await this.#client.get(CLAIMS, { name: claimName(mac) });
    } catch (error) {
      // Without details the kind itself is not served, so nothing is known about any address.
      if (isNotFound(error) && error.details !== undefined) return undefined;
      throw error;
    }
  }

  async pools(): Promise<MACPool[]> {
    const { items } = await this.#client.list(POOLS, { managedFields: false });
    return items.sort((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
  }

  /** Where an owner runs; undefined when it does not run or the user may not see it. */
  async place(owner: ClaimOwner): Promise<Place | undefined> {
    const { kind, namespace, name } = owner;
    if (name === undefined) return undefined;
    if (kind === "Pod") return placeOf(await readable(this.#client.get(RESOURCES.pods, { name, namespace })));
    const instance = await readable(this.#client.get(INSTANCES, { name, namespace }));
    if (instance === undefined) return undefined;
    const pods = await readable(this.#client.list(RESOURCES.pods, { namespace, labelSelector: LAUNCHER_SELECTOR }));
    const node = instance.status?.nodeName;
    return placeOf(
      pods?.items.find(
        (pod) =>
          pod.metadata.ownerReferences?.some(({ uid }) => uid === instance.metadata.uid) === true &&
          (node === undefined || pod.spec?.nodeName === node) &&
          pod.status?.phase !== "Succeeded" &&
          pod.status?.phase !== "Failed",
      ),
    );
  }
}

function placeOf(pod: Pod | undefined): Place | undefined {
  const node = pod?.spec?.nodeName;
  return node === undefined ? undefined : { node, pod: pod?.metadata.name ?? "" };
}

async function readable<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return undefined;
    throw error;
  }
}
