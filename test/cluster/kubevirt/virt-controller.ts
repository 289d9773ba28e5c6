import { setTimeout as pause } from "node:timers/promises";
import { type KubeConfig, Watch } from "@kubernetes/client-node";
import { KUBEVIRT_GROUP, KUBEVIRT_KINDS, KUBEVIRT_VERSION, pluralOf } from "./crds.ts";
import { KubevirtApi } from "./kubevirt-api.ts";
import { LABEL_CREATED_BY } from "./launcher-pod.ts";
import { nextWrites } from "./model.ts";
import type { ApiObject, Migration } from "./virtual-machine.ts";

const ROUND_PAUSE_MS = 100;
const RETRY_MS = 200;

const WATCHED = [
  ...KUBEVIRT_KINDS.map(({ kind }) => `/apis/${KUBEVIRT_GROUP}/${KUBEVIRT_VERSION}/${pluralOf(kind)}`),
  `/api/v1/pods?labelSelector=${encodeURIComponent(LABEL_CREATED_BY)}`,
];

/**
 * A stand-in for KubeVirt's virt-controller: VirtualMachine -> VirtualMachineInstance -> virt-launcher pod, status,
 * stop, delete, live migration. It does what other software in a cluster can see of virt-controller and nothing else.
 * It keeps no cache: a change names a machine, and that machine is read anew and handled; each write is a change, too.
 *
 * Limits: the guest is a sleeping process in the launcher pod, so no virt-handler work on the pod's links; no
 * hot-plug; no start or stop subresources (edit runStrategy); a migration hands over as soon as its target runs; the
 * source launcher is deleted instead of ending by itself.
 */
export async function runVirtController(config: KubeConfig, signal: AbortSignal): Promise<void> {
  const machines = new Machines(new KubevirtApi(config), signal);
  while (!signal.aborted) {
    await watchRound(config, WATCHED, (object) => machines.changed(machineOf(object)), signal);
    await pause(ROUND_PAUSE_MS, undefined, { signal }).catch(() => {});
  }
  await machines.idle();
}

/** `namespace/name` of the VM and its instance. */
function machineOf(object: ApiObject): string {
  const { namespace = "default", name = "", ownerReferences } = object.metadata;
  if (object.kind === "VirtualMachineInstanceMigration") return `${namespace}/${(object as Migration).spec?.vmiName}`;
  if (object.kind === "Pod") return `${namespace}/${ownerReferences?.[0]?.name}`;
  return `${namespace}/${name}`;
}

/** Handles each machine by itself, once at a time, and again when it changed meanwhile. */
class Machines {
  readonly #api: KubevirtApi;
  readonly #signal: AbortSignal;
  /** Machines being handled, and whether they have changed since they were read. */
  readonly #busy = new Map<string, { changed: boolean; readonly done: Promise<void> }>();

  constructor(api: KubevirtApi, signal: AbortSignal) {
    this.#api = api;
    this.#signal = signal;
  }

  changed(key: string): void {
    const state = this.#busy.get(key);
    if (state !== undefined) state.changed = true;
    else this.#busy.set(key, { changed: true, done: Promise.resolve().then(() => this.#handle(key)) });
  }

  async idle(): Promise<void> {
    await Promise.all([...this.#busy.values()].map(({ done }) => done));
  }

  async #handle(key: string): Promise<void> {
    const state = this.#busy.get(key);
    while (state?.changed && !this.#signal.aborted) {
      state.changed = false;
      try {
        await this.#step(key);
      } catch {
        state.changed = true;
        await pause(RETRY_MS, undefined, { signal: this.#signal }).catch(() => {});
      }
    }
    this.#busy.delete(key);
  }

  async #step(key: string): Promise<void> {
    const [namespace = "", name = ""] = key.split("/");
    for (const write of nextWrites(await this.#api.machine(namespace, name))) await this.#api.make(write);
  }
}

/**
 * Watches several collections until the first of their watches ends, for whatever reason: a reset, an error, or the 30 s
 * of silence that client-node allows. `tell` gets every object that is there, and each that changes or goes. Whoever
 * begins the next round at once so sees all objects again twice a minute, which repairs what was missed; client-node's
 * informer would stop at the first reset.
 */
async function watchRound(
  config: KubeConfig,
  paths: readonly string[],
  tell: (object: ApiObject) => void,
  signal: AbortSignal,
): Promise<void> {
  const watch = new Watch(config);
  const ended = Promise.withResolvers<void>();
  const end = (): void => ended.resolve();
  signal.addEventListener("abort", end, { once: true });
  const watches = paths.map((path) => watch.watch(path, {}, (type, object) => type !== "ERROR" && tell(object), end));
  await ended.promise;
  signal.removeEventListener("abort", end);
  for (const request of await Promise.all(watches)) request.abort();
}
