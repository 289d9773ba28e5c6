import type { Mac } from "../../api/mac.ts";
import { LAUNCHER_SELECTOR } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { Evidence } from "../core/lifecycle.ts";
import type { Party, Sighting } from "../core/party.ts";
import { distinctHolders, instanceMacs, type ListedMac, machineMacs, partyOf, podMacs } from "../objects/holders.ts";
import { KINDS } from "../objects/kinds.ts";
import type { LiveReads } from "./live-reads.ts";

/** Whether the object came into being through the webhook, as far as its labels and those of its namespace tell. */
export type WasAdmitted = (kind: Party["kind"], object: KubeObject) => boolean;

/**
 * Asks the API server by quorum reads which of the parties still have the address. This is needed before an address is
 * freed and before an object counts as seen, since a cache may show the time before the claim was made.
 *
 * For a VM: the VM, else its VMI, else the launcher pods of the namespace, in this order and no further than needed.
 * For a name prefix: one list of the namespace. A kind that the cluster does not have holds nothing.
 */
export async function readEvidence(
  reads: LiveReads,
  mac: Mac,
  parties: readonly Party[],
  wasAdmitted: WasAdmitted,
): Promise<Evidence> {
  const reader = new EvidenceReader(reads, mac, wasAdmitted);
  for (const party of distinctNames(parties)) await reader.look(party);
  return reader.evidence();
}

const MACS_OF: Readonly<Record<Party["kind"], (object: KubeObject) => ListedMac[]>> = {
  VirtualMachine: machineMacs,
  VirtualMachineInstance: instanceMacs,
  Pod: (pod) => podMacs(pod),
};

class EvidenceReader {
  readonly #reads: LiveReads;
  readonly #mac: Mac;
  readonly #wasAdmitted: WasAdmitted;
  readonly #sightings: Sighting[] = [];
  readonly #existing: Party[] = [];

  constructor(reads: LiveReads, mac: Mac, wasAdmitted: WasAdmitted) {
    this.#reads = reads;
    this.#mac = mac;
    this.#wasAdmitted = wasAdmitted;
  }

  evidence(): Evidence {
    return { holders: distinctHolders(this.#sightings), existing: this.#existing };
  }

  async look(party: Party): Promise<void> {
    if (party.name === undefined) return this.#lookForPrefix(party);
    const named = { name: party.name, namespace: party.namespace };
    if (party.kind === "Pod") {
      const pod = await this.#reads.get(KINDS.pods, named);
      if (pod !== undefined) this.#note("Pod", pod);
      return;
    }
    if (party.kind === "VirtualMachine") {
      const machine = await this.#reads.get(KINDS.virtualMachines, named);
      if (machine !== undefined && this.#note("VirtualMachine", machine)) {
        if (party.uid === undefined || party.uid === machine.metadata.uid) return;
      }
    }
    const instance = await this.#reads.get(KINDS.instances, named);
    if (instance !== undefined && this.#note("VirtualMachineInstance", instance)) return;
    await this.#lookAtLaunchers(party.namespace, instance === undefined ? [] : [instance]);
  }

  async #lookForPrefix({ kind, namespace }: Party): Promise<void> {
    if (kind === "Pod") {
      for (const pod of await this.#reads.list(KINDS.pods, namespace)) this.#note("Pod", pod);
      return;
    }
    const machines = kind === "VirtualMachine" ? await this.#reads.list(KINDS.virtualMachines, namespace) : [];
    for (const machine of machines) this.#note("VirtualMachine", machine);
    const instances = await this.#reads.list(KINDS.instances, namespace);
    for (const instance of instances) this.#note("VirtualMachineInstance", instance);
    await this.#lookAtLaunchers(namespace, instances);
  }

  async #lookAtLaunchers(namespace: string, instances: readonly KubeObject[]): Promise<void> {
    for (const pod of await this.#reads.list(KINDS.pods, namespace, LAUNCHER_SELECTOR)) {
      const found = podMacs(pod, ({ uid }) => instances.find((instance) => instance.metadata.uid === uid));
      this.#sightings.push(...found.filter(({ mac }) => mac === this.#mac).map(({ holder }) => holder));
    }
  }

  /** True when the object lists the address. */
  #note(kind: Party["kind"], object: KubeObject): boolean {
    this.#existing.push(partyOf(kind, object));
    const found = MACS_OF[kind](object).filter(({ mac }) => mac === this.#mac);
    this.#sightings.push(
      ...found.map(({ holder }) => ({ ...holder, confirms: holder.confirms && this.#wasAdmitted(kind, object) })),
    );
    return found.length > 0;
  }
}

/** One read per name is enough, whatever UIDs are known; but several make the search for a VM go on to its VMI. */
function distinctNames(parties: readonly Party[]): Party[] {
  const byName = new Map<string, Party>();
  for (const party of parties) {
    const key = `${party.kind}/${party.namespace}/${party.name ?? ""}`;
    const known = byName.get(key);
    const uids = new Set([known?.uid, party.uid].filter((uid) => uid !== undefined));
    const [uid] = uids;
    byName.set(key, { ...party, uid: uids.size > 1 ? ANY_UID : uid });
  }
  return [...byName.values()];
}

/** No object has it: the search does not end at the first object of that name. */
const ANY_UID = "several";
