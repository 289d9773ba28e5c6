import { formatMac, type Mac } from "../../api/mac.ts";
import type { MACClaim } from "../../api/mac-claim.ts";
import type { MACPool } from "../../api/mac-pool.ts";
import type { NodeMACs } from "../../api/node-macs.ts";
import { flappingMacs } from "../../api/seen-elsewhere.ts";
import type { KubeObject, Resource } from "../../kube/client/resource.ts";
import { Informer, type InformerOptions } from "../../kube/informer/informer.ts";
import { statusOf } from "../claims/claim.ts";
import type { ObjectReference } from "../claims/owner.ts";
import { KINDS } from "../objects/kinds.ts";
import { instanceMacs, type ListedMac, machineMacs, podMacs } from "../objects/listed-macs.ts";
import { macsOfRunningInstance, macsOfRunningPod } from "../objects/running.ts";
import { concernsPool, slimInstance, slimMachine, slimNamespace, slimPod } from "../objects/slim.ts";
import { compactClaim, SharedValues } from "./shared-values.ts";

/** Index of the informers of VMs, VMIs and pods: the addresses that an object lists, in canonical form. */
export const BY_MAC = "mac";
/** Index of the informers of VMIs and pods: the addresses that are on the network now. */
export const BY_RUNNING = "running";
/** Index of the pods: UID of the VMI that a launcher belongs to. */
export const BY_INSTANCE = "instance";
/** Index of the claims: UIDs of the owners that existed before they got the address. */
export const BY_UPDATED = "updated";

/** Index of the reports of nodes: addresses that were found on both sides of an uplink. */
export const BY_FLAPPING = "flapping";

export interface Informers {
  readonly claims: Informer<MACClaim>;
  readonly pools: Informer<MACPool>;
  readonly machines: Informer<KubeObject>;
  readonly instances: Informer<KubeObject>;
  readonly pods: Informer<KubeObject>;
  readonly namespaces: Informer<KubeObject>;
  readonly nodeMacs: Informer<NodeMACs>;
}

/** Of all kinds that the pool knows, slimmed down to what it asks them for. */
export function makeInformers(
  parts: Pick<InformerOptions<KubeObject>, "client" | "log" | "metrics" | "clock" | "random">,
): Informers {
  const informer = <T extends KubeObject>(resource: Resource<T>, more: Partial<InformerOptions<T>>): Informer<T> =>
    new Informer({ ...parts, resource, ...more });
  const byMac = (macsOf: (object: KubeObject) => readonly ListedMac[]) => ({
    [BY_MAC]: (object: KubeObject) => [...new Set(macsOf(object).map(({ mac }) => formatMac(mac)))],
  });
  const shared = new SharedValues();
  const claims = informer(KINDS.claims, {
    transform: (claim) => compactClaim(claim, shared),
    indexers: { [BY_UPDATED]: uidsOfUpdated },
  });
  const pools = informer(KINDS.pools, {});
  const machines = informer(KINDS.virtualMachines, {
    absentIsEmpty: true,
    transform: (machine) => slimMachine(machine, shared),
    indexers: byMac(machineMacs),
  });
  const instances = informer(KINDS.instances, {
    absentIsEmpty: true,
    transform: (instance) => slimInstance(instance, shared),
    indexers: { ...byMac(instanceMacs), [BY_RUNNING]: macsOfRunningInstance },
  });
  const pods = informer(KINDS.pods, {
    transform: slimPod,
    keep: concernsPool,
    indexers: {
      ...byMac((pod) => podMacs(pod)),
      [BY_RUNNING]: macsOfRunningPod,
      [BY_INSTANCE]: ({ metadata: { ownerReferences = [] } }) =>
        ownerReferences.filter(({ kind }) => kind === "VirtualMachineInstance").map(({ uid }) => uid),
    },
  });
  const namespaces = informer(KINDS.namespaces, { transform: slimNamespace });
  const nodeMacs = informer(KINDS.nodeMacs, { absentIsEmpty: true, indexers: { [BY_FLAPPING]: flappingMacs } });
  return { claims, pools, machines, instances, pods, namespaces, nodeMacs };
}

function uidsOfUpdated(claim: MACClaim): readonly string[] {
  const { phase, owners } = statusOf(claim);
  return phase === "Bound" ? [] : [...new Set(owners.flatMap(({ uid }) => uid ?? []))];
}

/** Whether a pod of the owner's name has the address by what multus says, asked for or not. */
export function isAttached(pods: Informer<KubeObject>, mac: Mac, { kind, namespace, name }: ObjectReference): boolean {
  if (kind !== "Pod") return false;
  const attached = pods.byIndex(BY_RUNNING, formatMac(mac));
  return attached.some(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
}
