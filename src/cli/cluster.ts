import { type CustomKind, MAC_CLAIMS, MAC_POOLS, VIRTUAL_MACHINE_INSTANCES } from "../api/kinds.ts";
import { claimName, type Mac } from "../api/mac.ts";
import type { ClaimOwner, MACClaim } from "../api/mac-claim.ts";
import type { MACPool } from "../api/mac-pool.ts";
import { type ApiServer, type ReadObject, RefusedError } from "./api-server.ts";

const PODS: CustomKind = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true };
const LAUNCHERS = "kubevirt.io=virt-launcher";

interface Pod extends ReadObject {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly phase?: string };
}

interface Instance extends ReadObject {
  readonly status?: { readonly nodeName?: string };
}

export interface Place {
  readonly node: string;
  readonly pod: string;
}

/** What the commands ask the cluster. */
export class Cluster {
  readonly #api: ApiServer;

  constructor(api: ApiServer) {
    this.#api = api;
  }

  /** In the order of the addresses. */
  async claims(): Promise<MACClaim[]> {
    const claims = await this.#api.list<MACClaim>(MAC_CLAIMS);
    return claims.sort((a, b) => (a.spec.mac < b.spec.mac ? -1 : 1));
  }

  async claim(mac: Mac): Promise<MACClaim | undefined> {
    try {
      return await this.#api.get<MACClaim>(MAC_CLAIMS, claimName(mac));
    } catch (error) {
      // Without the CRD there is no answer about any address, which is another matter than a free one.
      if (!(error instanceof RefusedError) || error.status !== 404) throw error;
      await this.pools();
      return undefined;
    }
  }

  async pools(): Promise<MACPool[]> {
    const pools = await this.#api.list<MACPool>(MAC_POOLS);
    return pools.sort((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
  }

  /** Where an owner runs; undefined when it does not, or when the user may not see it. */
  async place(owner: ClaimOwner): Promise<Place | undefined> {
    const { kind, namespace, name } = owner;
    if (name === undefined) return undefined;
    if (kind === "Pod") return placeOf(await readable(this.#api.get<Pod>(PODS, name, namespace)));
    const instance = await readable(this.#api.get<Instance>(VIRTUAL_MACHINE_INSTANCES, name, namespace));
    if (instance === undefined) return undefined;
    const pods = (await readable(this.#api.list<Pod>(PODS, { namespace, labelSelector: LAUNCHERS }))) ?? [];
    const node = instance.status?.nodeName;
    return placeOf(
      pods.find(
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
    if (error instanceof RefusedError && (error.status === 403 || error.status === 404)) return undefined;
    throw error;
  }
}
