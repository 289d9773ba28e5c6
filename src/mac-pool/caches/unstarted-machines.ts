import type { MACClaim } from "../../api/mac-claim.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { isOlder } from "../../kube/client/resource-version.ts";
import { type Informer, objectKey } from "../../kube/informer/informer.ts";
import { textAt } from "../../kube/json-path.ts";
import type { Party } from "../core/party.ts";

/** Of 400 bytes at most. Of a VM that is forgotten, instances are looked for. */
const MAX_MACHINES = 20_000;

/**
 * VMs that were halted from their creation to their end, as the watch has told: virt-controller makes no instance of those. Of
 * one that is only gone by a live read, the watch may have to tell yet that it was started.
 */
export class UnstartedMachines {
  /** Those that are halted until now -> the version in which the VM was created, the oldest first. */
  readonly #halted = new Map<string, string>();
  /** Those that are gone -> the same. */
  readonly #gone = new Map<string, string>();

  constructor(machines: Informer<KubeObject>) {
    machines.on({
      listed: () => {
        this.#halted.clear();
        this.#gone.clear();
      },
      add: (machine, { created }) => {
        const key = objectKey(machine);
        this.#halted.delete(key);
        this.#gone.delete(key);
        if (created && isHalted(machine)) remember(this.#halted, key, machine.metadata.resourceVersion);
      },
      update: (machine) => {
        if (!isHalted(machine)) this.#halted.delete(objectKey(machine));
      },
      delete: (machine) => {
        const key = objectKey(machine);
        remember(this.#gone, key, this.#halted.get(key));
        this.#halted.delete(key);
      },
    });
  }

  /**
   * Whether the owner is a VM that was created after the claim was made for it, and never started. A VM that had the name before
   * may have left an instance, and has had another claim.
   */
  has({ kind, namespace, name }: Party, { metadata }: MACClaim): boolean {
    const resourceVersion = this.#gone.get(`${namespace}/${name}`);
    if (kind !== "VirtualMachine" || resourceVersion === undefined) return false;
    return metadata.generation === 1 && isOlder(metadata, { resourceVersion });
  }
}

function remember(machines: Map<string, string>, key: string, version: string | undefined): void {
  if (version === undefined) return;
  for (const oldest of machines.keys()) {
    if (machines.size < MAX_MACHINES) break;
    machines.delete(oldest);
  }
  machines.set(key, version);
}

const isHalted = (machine: KubeObject): boolean => textAt(machine, "spec", "runStrategy") === "Halted";
