import type { MACClaim } from "../../api/mac-claim.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { isOlder } from "../../kube/client/resource-version.ts";
import { type Informer, objectKey } from "../../kube/informer/informer.ts";
import { textAt } from "../../kube/json-path.ts";
import type { Party } from "../core/party.ts";

/** Of 400 bytes at most. Of a VM that is forgotten, instances are looked for. */
const MAX_MACHINES = 20_000;

/**
 * VMs that were halted from their creation on, as the watch has told: virt-controller makes no instance of those. They may be
 * gone.
 */
export class UnstartedMachines {
  /** Key -> the version in which the VM was created, the oldest first. */
  readonly #created = new Map<string, string | undefined>();

  constructor(machines: Informer<KubeObject>) {
    machines.on({
      listed: () => this.#created.clear(),
      add: (machine, { created }) => {
        const key = objectKey(machine);
        this.#created.delete(key);
        if (!created || !isHalted(machine)) return;
        for (const oldest of this.#created.keys()) {
          if (this.#created.size < MAX_MACHINES) break;
          this.#created.delete(oldest);
        }
        this.#created.set(key, machine.metadata.resourceVersion);
      },
      update: (machine) => {
        if (!isHalted(machine)) this.#created.delete(objectKey(machine));
      },
    });
  }

  /**
   * Whether the owner is a VM that was created after the claim was made for it, and never started. A VM that had the name before
   * may have left an instance, and has had another claim.
   */
  has({ kind, namespace, name }: Party, { metadata }: MACClaim): boolean {
    const resourceVersion = this.#created.get(`${namespace}/${name}`);
    if (kind !== "VirtualMachine" || resourceVersion === undefined) return false;
    return metadata.generation === 1 && isOlder(metadata, { resourceVersion });
  }
}

const isHalted = (machine: KubeObject): boolean => textAt(machine, "spec", "runStrategy") === "Halted";
