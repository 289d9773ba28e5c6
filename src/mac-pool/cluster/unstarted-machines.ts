import type { Mac } from "../../api/mac.ts";
import type { MACClaim } from "../../api/mac-claim.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { isOlder } from "../../kube/client/resource-version.ts";
import { type Informer, objectKey } from "../../kube/informer/informer.ts";
import { textAt } from "../../kube/json-path.ts";
import type { ObjectReference } from "../claims/owner.ts";
import { machineMacs } from "../objects/listed-macs.ts";

/** Of 1 kB at most. Of a VM that is forgotten, instances are looked for. */
const MAX_MACHINES = 20_000;

/**
 * VMs that were halted from their creation to their end, as the watch has told: virt-controller makes no instance of those.
 * Where only a live read says that a VM is gone, the watch may still have to tell that it was started.
 */
export class UnstartedMachines {
  /** Those that are halted until now -> the version in which the VM was created, the oldest first. */
  readonly #halted = new Map<string, string>();
  /** Those that are gone -> the same, and the addresses that it had. */
  readonly #gone = new Map<string, { readonly version: string; readonly macs: readonly Mac[] }>();

  constructor(machines: Informer<KubeObject>) {
    machines.on({
      onRelist: () => {
        this.#halted.clear();
        this.#gone.clear();
      },
      add: (machine, { created }) => {
        const key = objectKey(machine);
        this.#halted.delete(key);
        this.#gone.delete(key);
        const { resourceVersion } = machine.metadata;
        if (created && resourceVersion !== undefined && isHalted(machine)) remember(this.#halted, key, resourceVersion);
      },
      update: (machine) => {
        if (!isHalted(machine)) this.#halted.delete(objectKey(machine));
      },
      delete: (machine) => {
        const key = objectKey(machine);
        const version = this.#halted.get(key);
        this.#halted.delete(key);
        if (version !== undefined)
          remember(this.#gone, key, { version, macs: machineMacs(machine).map(({ mac }) => mac) });
      },
    });
  }

  /**
   * Whether the owner is the VM that the claim was made for, and was never started. Another VM that had its name may have left an
   * instance; that one has had another claim, or lists another address.
   */
  has({ kind, namespace, name }: ObjectReference, { metadata }: MACClaim, mac: Mac): boolean {
    const gone = this.#gone.get(`${namespace}/${name}`);
    if (kind !== "VirtualMachine" || gone === undefined || !gone.macs.includes(mac)) return false;
    return metadata.generation === 1 && isOlder(metadata, { resourceVersion: gone.version });
  }
}

function remember<T>(machines: Map<string, T>, key: string, value: T): void {
  for (const oldest of machines.keys()) {
    if (machines.size < MAX_MACHINES) break;
    machines.delete(oldest);
  }
  machines.set(key, value);
}

const isHalted = (machine: KubeObject): boolean => textAt(machine, "spec", "runStrategy") === "Halted";
