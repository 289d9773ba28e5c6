import {
  apiVersionOf,
  type CustomKind,
  MAC_CLAIMS,
  MAC_POOLS,
  NETWORK_ATTACHMENT_DEFINITIONS,
  NODE_MACS,
  VIRTUAL_MACHINE_INSTANCES,
  VIRTUAL_MACHINES,
} from "../../api/kinds.ts";
import type { MACClaim, OwnerKind } from "../../api/mac-claim.ts";
import type { MACPool } from "../../api/mac-pool.ts";
import type { NodeMACs } from "../../api/node-macs.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../kube/client/resource.ts";
import type { Regarding } from "../../kube/events/event-recorder.ts";

const typed = <T extends KubeObject>(kind: CustomKind): Resource<T> => kind;

/** The kinds that the MAC pool reads or writes. KubeVirt's objects stay raw: their schema is KubeVirt's. */
export const KINDS = {
  claims: typed<MACClaim>(MAC_CLAIMS),
  pools: typed<MACPool>(MAC_POOLS),
  nodeMacs: typed<NodeMACs>(NODE_MACS),
  virtualMachines: typed<KubeObject>(VIRTUAL_MACHINES),
  instances: typed<KubeObject>(VIRTUAL_MACHINE_INSTANCES),
  networks: typed<KubeObject>(NETWORK_ATTACHMENT_DEFINITIONS),
  pods: RESOURCES.pods as Resource<KubeObject>,
  namespaces: RESOURCES.namespaces as Resource<KubeObject>,
} as const;

const API_VERSIONS: Readonly<Record<OwnerKind, string>> = {
  VirtualMachine: apiVersionOf(VIRTUAL_MACHINES),
  VirtualMachineInstance: apiVersionOf(VIRTUAL_MACHINE_INSTANCES),
  Pod: "v1",
};

/** An owner of an address as the object of an event. */
export function regardingOf(ref: {
  readonly kind: OwnerKind;
  readonly namespace: string;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
}): Regarding {
  const { kind, namespace, name, uid } = ref;
  return { apiVersion: API_VERSIONS[kind], kind, metadata: { namespace, name, uid } };
}
