import {
  ApiException,
  CoreV1Api,
  CustomObjectsApi,
  type KubeConfig,
  PatchStrategy,
  setHeaderOptions,
  type V1Pod,
} from "@kubernetes/client-node";
import { KUBEVIRT_GROUP, KUBEVIRT_VERSION, pluralOf } from "./crds.ts";
import { LABEL_CREATED_BY } from "./launcher-pod.ts";
import type { Machine } from "./model.ts";
import type { Launcher, Migration, VirtualMachine, VirtualMachineInstance } from "./virtual-machine.ts";
import type { Write } from "./write.ts";

/**
 * Reads machines and makes writes, by client-node: what is wrong with the product's own client must not hide behind the
 * same mistake here. KubeVirt's objects are raw JSON, since client-node's typed objects lose fields that it does not
 * know. Pods are typed: none of them is written back.
 */
export class KubevirtApi {
  readonly #objects: CustomObjectsApi;
  readonly #core: CoreV1Api;

  constructor(config: KubeConfig) {
    this.#objects = config.makeApiClient(CustomObjectsApi);
    this.#core = config.makeApiClient(CoreV1Api);
  }

  async machine(namespace: string, name: string): Promise<Machine> {
    const [vm, vmi, all] = await Promise.all([
      this.#get<VirtualMachine>("VirtualMachine", namespace, name),
      this.#get<VirtualMachineInstance>("VirtualMachineInstance", namespace, name),
      this.#objects.listNamespacedCustomObject({ ...at("VirtualMachineInstanceMigration"), namespace }),
    ]);
    const labelSelector = `${LABEL_CREATED_BY}=${vmi?.metadata.uid ?? ""}`;
    const pods = vmi === undefined ? [] : (await this.#core.listNamespacedPod({ namespace, labelSelector })).items;
    const migrations = (all as { items: Migration[] }).items.filter(({ spec }) => spec?.vmiName === name);
    return { vm, vmi, launchers: pods.map(launcherOf), migrations };
  }

  /** Throws where the API server refuses, or where the object has changed since it was read. */
  async make(write: Write): Promise<void> {
    if (write.object.kind === "Pod") await this.#makePod(write);
    else await this.#makeObject(write);
  }

  async #makeObject(write: Write): Promise<void> {
    const { name = "", namespace = "default", uid, resourceVersion } = write.object.metadata;
    const ref = { ...at(write.object.kind ?? ""), namespace, name };
    switch (write.verb) {
      case "create":
        return unless(409, this.#objects.createNamespacedCustomObject({ ...ref, body: write.object }));
      case "delete":
        return unless(404, this.#objects.deleteNamespacedCustomObject({ ...ref, body: preconditions(uid) }));
      case "finalizers": {
        const body = { metadata: { resourceVersion, finalizers: write.finalizers } };
        const merge = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
        return unless(404, this.#objects.patchNamespacedCustomObject({ ...ref, body }, merge));
      }
      case "status": {
        const body = { ...write.object, status: write.status };
        return unless(404, this.#objects.replaceNamespacedCustomObjectStatus({ ...ref, body }));
      }
    }
  }

  async #makePod({ verb, object }: Write): Promise<void> {
    const { name = "", namespace = "default", uid } = object.metadata;
    if (verb === "create") await this.#core.createNamespacedPod({ namespace, body: object as object as V1Pod });
    else await unless(404, this.#core.deleteNamespacedPod({ name, namespace, body: preconditions(uid) }));
  }

  async #get<T>(kind: string, namespace: string, name: string): Promise<T | undefined> {
    try {
      return (await this.#objects.getNamespacedCustomObject({ ...at(kind), namespace, name })) as T;
    } catch (error) {
      if (error instanceof ApiException && error.code === 404) return undefined;
      throw error;
    }
  }
}

const at = (kind: string) => ({ group: KUBEVIRT_GROUP, version: KUBEVIRT_VERSION, plural: pluralOf(kind) });

/** Items of a list do not say their kind, and client-node makes dates of timestamps. */
const launcherOf = ({ metadata: { deletionTimestamp, ...metadata } = {}, spec, status }: V1Pod): Launcher => ({
  kind: "Pod",
  metadata: { ...metadata, deletionTimestamp: deletionTimestamp?.toISOString() },
  spec: { ...spec },
  status: { ...status },
});

const preconditions = (uid: string | undefined) => (uid === undefined ? {} : { preconditions: { uid } });

async function unless(code: number, call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => {
    if (!(error instanceof ApiException && error.code === code)) throw error;
  });
}
