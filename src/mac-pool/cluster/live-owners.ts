import type { Mac } from "../../api/mac.ts";
import { LAUNCHER_SELECTOR } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { ObjectReference, ObservedOwner } from "../claims/owner.ts";
import { KINDS } from "../objects/kinds.ts";
import {
  distinctOwnersSeen,
  instanceMacs,
  type ListedMac,
  machineMacs,
  podMacs,
  referenceOf,
} from "../objects/listed-macs.ts";
import { attachedMacsOfPod } from "../objects/running.ts";
import type { LiveReads } from "./live-reads.ts";

/**
 * Asks the API server by quorum reads which of the objects have the address now. This is needed before an address is freed,
 * since a cache may show the time before the claim was made.
 *
 * For a VM: the VM, else its VMI, else the launcher pods of the namespace, in this order and no further than needed.
 * For a pod: what it asks multus for, and what multus says that it has. The latter only keeps what it owns.
 * For a name prefix: one list of the namespace. A kind that the cluster does not have holds nothing.
 */
export async function readLiveOwners(
  reads: LiveReads,
  mac: Mac,
  refs: readonly ObjectReference[],
  known: KnownObjects,
): Promise<readonly ObservedOwner[]> {
  const reader = new EvidenceReader(reads, mac, known);
  for (const ref of distinctNames(refs)) await reader.read(ref);
  return distinctOwnersSeen(reader.observedOwners);
}

export interface KnownObjects {
  /** A VM that never had an instance, and so no launcher. */
  readonly isUnstarted: (ref: ObjectReference) => boolean;
  /** Whether what an object that was read says of an owner counts. */
  readonly hasSay: (owner: ObservedOwner, object: KubeObject) => boolean | Promise<boolean>;
}

const MACS_OF: Readonly<
  Record<"VirtualMachine" | "VirtualMachineInstance", (object: KubeObject) => readonly ListedMac[]>
> = {
  VirtualMachine: machineMacs,
  VirtualMachineInstance: instanceMacs,
};

/** By the pod as it was read: it is read once for the claims of all its addresses. */
const MACS_OF_PODS = new WeakMap<KubeObject, readonly ListedMac[]>();

function macsOfPod(pod: KubeObject): readonly ListedMac[] {
  const known = MACS_OF_PODS.get(pod);
  if (known !== undefined) return known;
  const owner = { ...referenceOf("Pod", pod), interface: "", countsAsOwner: false };
  const macs = [...podMacs(pod), ...attachedMacsOfPod(pod).map((mac) => ({ mac, owner }))];
  MACS_OF_PODS.set(pod, macs);
  return macs;
}

class EvidenceReader {
  readonly observedOwners: ObservedOwner[] = [];
  readonly #reads: LiveReads;
  readonly #mac: Mac;
  readonly #known: KnownObjects;

  constructor(reads: LiveReads, mac: Mac, known: KnownObjects) {
    this.#reads = reads;
    this.#mac = mac;
    this.#known = known;
  }

  async read(ref: ObjectReference): Promise<void> {
    if (ref.name === undefined) return this.#lookForPrefix(ref);
    const named = { name: ref.name, namespace: ref.namespace };
    if (ref.kind === "Pod") {
      const pod = await this.#reads.get(KINDS.pods, named);
      if (pod !== undefined) await this.#add(macsOfPod(pod), pod);
      return;
    }
    const isMachine = ref.kind === "VirtualMachine";
    if (isMachine && (await this.#note("VirtualMachine", await this.#reads.get(KINDS.virtualMachines, named)))) return;
    const instance = await this.#reads.get(KINDS.instances, named);
    if (await this.#note("VirtualMachineInstance", instance)) return;
    if (instance !== undefined || !this.#known.isUnstarted(ref))
      await this.#lookAtLaunchers(ref.namespace, instance === undefined ? [] : [instance]);
  }

  async #lookForPrefix({ kind, namespace }: ObjectReference): Promise<void> {
    if (kind === "Pod") {
      for (const pod of await this.#reads.list(KINDS.pods, namespace)) await this.#add(macsOfPod(pod), pod);
      return;
    }
    const machines = kind === "VirtualMachine" ? await this.#reads.list(KINDS.virtualMachines, namespace) : [];
    for (const machine of machines) await this.#note("VirtualMachine", machine);
    const instances = await this.#reads.list(KINDS.instances, namespace);
    for (const instance of instances) await this.#note("VirtualMachineInstance", instance);
    await this.#lookAtLaunchers(namespace, instances);
  }

  async #lookAtLaunchers(namespace: string, instances: readonly KubeObject[]): Promise<void> {
    for (const pod of await this.#reads.list(KINDS.pods, namespace, LAUNCHER_SELECTOR)) {
      await this.#add(
        podMacs(pod, ({ uid }) => instances.find((instance) => instance.metadata.uid === uid)),
        pod,
      );
    }
  }

  /** True when the object lists the address. */
  async #note(kind: keyof typeof MACS_OF, object: KubeObject | undefined): Promise<boolean> {
    return object !== undefined && (await this.#add(MACS_OF[kind](object), object));
  }

  async #add(listed: readonly ListedMac[], object: KubeObject): Promise<boolean> {
    const found = listed.filter(({ mac }) => mac === this.#mac);
    for (const { owner } of found) if (await this.#known.hasSay(owner, object)) this.observedOwners.push(owner);
    return found.length > 0;
  }
}

/** One read per name is enough. */
function distinctNames(refs: readonly ObjectReference[]): readonly ObjectReference[] {
  const byName = new Map<string, ObjectReference>();
  for (const ref of refs) byName.set(`${ref.kind}/${ref.namespace}/${ref.name ?? ""}`, ref);
  return [...byName.values()];
}
