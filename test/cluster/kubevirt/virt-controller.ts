import type { KubeClient } from "../../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES } from "../../../src/kube/client/resource.ts";
import { Controller } from "../../../src/kube/controller/controller.ts";
import { Informer, objectKey } from "../../../src/kube/informer/informer.ts";
import { LABEL_CREATED_BY } from "./launcher-pod.ts";
import { reconcileMigration } from "./migration-reconciler.ts";
import { PODS_BY_VMI, type VirtCaches } from "./virt-caches.ts";
import { MIGRATIONS, VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from "./virtual-machine.ts";
import { reconcileVm } from "./vm-reconciler.ts";
import { reconcileVmi } from "./vmi-reconciler.ts";

const CONCURRENCY = 4;

/**
 * A stand-in for KubeVirt's virt-controller: VirtualMachine -> VirtualMachineInstance -> virt-launcher pod, status,
 * stop, delete, live migration. It does what other software in a cluster can see of virt-controller and nothing else.
 *
 * Limits: the guest is a sleeping process in the launcher pod, so no virt-handler work on the pod's links; no
 * hot-plug; no start or stop subresources (edit runStrategy); a migration hands over as soon as its target runs; the
 * source launcher is deleted instead of ending by itself.
 */
export async function runVirtController(client: KubeClient, signal: AbortSignal): Promise<void> {
  const caches = makeCaches(client);
  const { vms, vmis, migrations, launchers } = caches;
  for (const informer of [vms, vmis, migrations, launchers]) informer.start(signal);

  const vmController = new Controller({
    name: "virt-vm",
    concurrency: CONCURRENCY,
    reconcile: (key, { signal }) => reconcileVm(caches, key, signal),
  });
  vmController.watch(vms);
  vmController.watch(vmis);

  const vmiController = new Controller({
    name: "virt-vmi",
    concurrency: CONCURRENCY,
    reconcile: (key, { signal }) => reconcileVmi(caches, key, signal),
  });
  vmiController.watch(vmis);
  vmiController.watch(launchers, ownerKeys);

  const migrationController = new Controller({
    name: "virt-migration",
    reconcile: (key, { signal }) => reconcileMigration(caches, key, signal),
  });
  migrationController.watch(migrations);
  const migrationsOf = (namespace: string | undefined, vmiName: string | undefined): string[] =>
    migrations
      .list()
      .filter((migration) => migration.metadata.namespace === namespace && migration.spec?.vmiName === vmiName)
      .map(objectKey);
  migrationController.watch(vmis, (vmi) => migrationsOf(vmi.metadata.namespace, vmi.metadata.name));
  migrationController.watch(launchers, (pod) => migrationsOf(pod.metadata.namespace, ownerOf(pod)));

  await Promise.all([vmController, vmiController, migrationController].map((controller) => controller.run(signal)));
}

function makeCaches(client: KubeClient): VirtCaches {
  return {
    client,
    vms: new Informer({ client, resource: VIRTUAL_MACHINES, absentIsEmpty: true }),
    vmis: new Informer({ client, resource: VIRTUAL_MACHINE_INSTANCES, absentIsEmpty: true }),
    migrations: new Informer({ client, resource: MIGRATIONS, absentIsEmpty: true }),
    launchers: new Informer({
      client,
      resource: RESOURCES.pods,
      labelSelector: LABEL_CREATED_BY,
      indexers: { [PODS_BY_VMI]: (pod) => [pod.metadata.labels?.[LABEL_CREATED_BY] ?? ""] },
    }),
  };
}

function ownerOf(pod: KubeObject): string | undefined {
  return pod.metadata.ownerReferences?.find((owner) => owner.kind === "VirtualMachineInstance")?.name;
}

function ownerKeys(pod: KubeObject): string[] {
  const owner = ownerOf(pod);
  return owner === undefined ? [] : [`${pod.metadata.namespace ?? "default"}/${owner}`];
}
