import type { Mac } from "../../api/mac.ts";
import type { MACClaim, OwnerKind } from "../../api/mac-claim.ts";
import { type LabelRequirement, POD_NAMESPACES, VM_NAMESPACES } from "../../api/mac-pool-scope.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import { objectKey } from "../../kube/informer/informer.ts";
import type { Party } from "../core/party.ts";
import { isOptedOut } from "../objects/guest-changes.ts";
import { instanceMacs, type ListedMac, machineMacs } from "../objects/holders.ts";
import { isInScope } from "../objects/management.ts";
import { Creations } from "./creations.ts";
import type { Informers } from "./informers.ts";
import { LabelChanges } from "./label-changes.ts";

export interface AdmissionsOptions {
  readonly clock: Clock;
  /** How long a creation can be under way. */
  readonly pendingMs: () => number;
  readonly isManaged: (kind: OwnerKind, object: KubeObject) => boolean;
  /** Whether an object of a namespace with these labels is left alone where it opts out, as far as the known pools tell. */
  readonly mayOptOut: (namespaceLabels: Readonly<Record<string, string>>) => boolean;
}

/** Which objects came into being through the webhook, as far as the watches tell. */
export class Admissions {
  readonly #options: AdmissionsOptions;
  readonly #machines: Informers["machines"];
  readonly #namespaceLabels: { readonly guests: LabelChanges; readonly pods: LabelChanges };
  readonly #machineLabels: LabelChanges;
  readonly #creations: readonly Creations[];

  constructor({ namespaces, machines, instances, claims, pools }: Informers, options: AdmissionsOptions) {
    const { clock, pendingMs: keptMs, isManaged, mayOptOut } = options;
    this.#options = options;
    this.#machines = machines;
    // A pool may say what an opt-out means: nobody knows which labels decide that before all of them are listed.
    const about = (requirement: LabelRequirement): LabelChanges =>
      new LabelChanges(namespaces, clock, ({ metadata: { labels = {} } }) =>
        pools.hasSynced ? `${isInScope(labels, requirement)} ${mayOptOut(labels)}` : JSON.stringify(labels),
      );
    this.#namespaceLabels = { guests: about(VM_NAMESPACES), pods: about(POD_NAMESPACES) };
    this.#machineLabels = new LabelChanges(machines, clock, isOptedOut);
    const creations = (kind: OwnerKind, objects: Informers["machines"], macsOf: (object: KubeObject) => ListedMac[]) =>
      // A pool may say that the object opts out: nobody knows before all of them are listed.
      new Creations(objects, {
        clock,
        keptMs,
        macsOf,
        isManaged: (object) => pools.hasSynced && isManaged(kind, object),
      });
    // Claims, VMs and VMIs are all custom resources, whose versions have one order. Pods may be in an etcd of their own.
    this.#creations = [
      creations("VirtualMachine", machines, machineMacs),
      creations("VirtualMachineInstance", instances, instanceMacs),
    ];
    claims.on({
      listed: () => {
        for (const known of this.#creations) known.forget();
      },
    });
  }

  /**
   * Whether the object was created through the webhook, as far as its labels and those of its namespace tell: what they
   * say about that has not changed for longer than a creation can be under way.
   */
  readonly wasAdmitted = (kind: OwnerKind, object: KubeObject): boolean =>
    this.#namespaceLabels[kind === "Pod" ? "pods" : "guests"].areOlderThan(
      this.#options.pendingMs(),
      object.metadata.namespace ?? "",
    ) &&
    (kind !== "VirtualMachine" || this.#isLabelledAsCreated(object)) &&
    this.#options.isManaged(kind, object);

  /**
   * VMs and VMIs without a VM that were created with the address after the claim was last written, and through the webhook,
   * as `wasAdmitted`. They may be gone.
   */
  readonly createdAfter = ({ metadata }: MACClaim, mac: Mac): readonly Party[] =>
    this.#creations
      .flatMap((creations) => creations.after(metadata, mac))
      .filter(({ namespace }) => this.#namespaceLabels.guests.areOlderThan(this.#options.pendingMs(), namespace));

  /** A VM can be opted out for its creation, and in again without the webhook. */
  #isLabelledAsCreated(machine: KubeObject): boolean {
    const key = objectKey(machine);
    if (this.#creations.some((creations) => creations.has(machine.metadata.uid ?? ""))) return true;
    const cached = this.#machines.get(key);
    return (
      cached?.metadata.uid === machine.metadata.uid &&
      cached !== undefined &&
      isOptedOut(cached) === isOptedOut(machine) &&
      this.#machineLabels.areOlderThan(this.#options.pendingMs(), key)
    );
  }
}
