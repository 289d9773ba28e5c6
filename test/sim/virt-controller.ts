import type { KubeObject } from "../../src/kube/client/resource.ts";
import { instanceOf, RECEIVER_ANNOTATION } from "../cluster/kubevirt/instance.ts";
import { launcherPod } from "../cluster/kubevirt/launcher-pod.ts";
import type { VirtualMachineInstance } from "../cluster/kubevirt/virtual-machine.ts";
import { vmiStatus } from "../cluster/kubevirt/vmi-status.ts";
import { keyOf } from "../support/object-store.ts";
import type { Provenance } from "./audit.ts";
import {
  inPhase,
  isHalted,
  macsHeld,
  nicsOf,
  RESOURCE_OF,
  running,
  withInstanceNics,
  withStrategy,
} from "./objects.ts";
import { type Answer, admissionRequest, callWebhook } from "./webhook-call.ts";
import type { World } from "./world.ts";

const { VirtualMachine: MACHINES, VirtualMachineInstance: INSTANCES, Pod: PODS } = RESOURCE_OF;

/** How long the API server lets the pool think about a start. */
const START_TIMEOUT_MS = 2_000;

/**
 * KubeVirt's side of the simulated cluster: instances of VMs, their launchers, migrations, hot-plug, clean-up. What these
 * objects look like is said by the model of test/cluster/kubevirt; when they come and go is chance here.
 */
export class VirtController {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** Asks the pool, as the API server does, whether the VM may start; goes on when nobody answers soon. */
  start(key: string): void {
    const { etcd, tenancy } = this.#world;
    const halted = etcd.get(MACHINES.plural, key);
    if (halted === undefined || etcd.get(INSTANCES.plural, key) !== undefined) return;
    const vm = isHalted(halted) ? etcd.update(MACHINES, withStrategy(halted, "Manual")) : halted;
    const { restores } = etcd;
    const made = this.#world.auditor.provenanceOf(vm);
    const { namespace = "", name } = vm.metadata;
    const started = instanceOf(vm);
    const waits = started.metadata.annotations?.[RECEIVER_ANNOTATION] === "true";
    const status = vmiStatus(started, undefined, []);
    const object = { ...started, status: waits ? { ...status, phase: "WaitingForSync" } : status };
    if (!tenancy.manages("VirtualMachine", namespace)) {
      this.#startLater(vm, object, { made, isGated: false }, restores);
      return;
    }
    const request = admissionRequest("VirtualMachineInstance", object, undefined, false);
    callWebhook(this.#world, request, START_TIMEOUT_MS, (said) => {
      if (said?.decision.answer.allowed === false) {
        this.#world.countRefusal(said.decision.refusal, `start of ${namespace}/${name}`);
        return;
      }
      this.#startLater(vm, object, { made, isGated: wasJudged(said) && !waits }, restores);
    });
  }

  /**
   * What comes after the pool takes its time, or says no. `made`: what the VM had when the instance was made of it; it may have
   * moved to another network since.
   */
  #startLater(
    vm: KubeObject,
    object: KubeObject,
    { made, isGated }: { readonly made: Provenance | undefined; readonly isGated: boolean },
    restores: number,
  ): void {
    const { scheduler, random } = this.#world;
    const delayMs = random.chance(0.03) ? random.between(1_000, 50_000) : random.between(0, 50);
    scheduler.after(delayMs, () => {
      const { etcd, auditor } = this.#world;
      const key = keyOf(object.metadata);
      if (etcd.restores !== restores) return;
      if (random.chance(0.03) || etcd.get(INSTANCES.plural, key) !== undefined) return;
      const current = etcd.get(MACHINES.plural, key);
      const provenance = current && auditor.provenanceOf(current);
      if (provenance === undefined || current?.metadata.uid !== vm.metadata.uid) return;
      auditor.register("VirtualMachineInstance", key, { ...derived(asItWas(provenance, made)), isGated });
      etcd.create(INSTANCES, object);
      this.launch(key);
    });
  }

  /** A launcher for the instance; a second one is the target of a live migration from the node of the first. */
  launch(key: string, sourceNode?: string): void {
    const { etcd, auditor, random } = this.#world;
    const vmi = etcd.get(INSTANCES.plural, key);
    const provenance = vmi && auditor.provenanceOf(vmi);
    if (vmi === undefined || provenance === undefined) return;
    const { namespace = "", name } = vmi.metadata;
    const launcher = `virt-launcher-${name}-${random.below(1e9).toString(36)}`;
    auditor.register("Pod", `${namespace}/${launcher}`, derived(provenance));
    const target = sourceNode === undefined ? [] : [{ migrationName: launcher, migrationUid: launcher, sourceNode }];
    const { metadata, ...made } = launcherPod(vmi as VirtualMachineInstance, ...target);
    const { generateName: _, ...rest } = metadata;
    etcd.create(PODS, { ...made, metadata: { ...rest, name: launcher }, status: { phase: "Pending" } });
    this.#soon(3_000, () => this.#report(key));
  }

  migrate(key: string): void {
    const old = this.#launchersOf(key);
    if (old.length !== 1) return;
    this.launch(key, "source");
    this.#soon(20_000, () => {
      for (const launcher of old) this.#endPod(launcher);
    });
  }

  /** The instance of a VM goes; its launcher before, with, or after it. */
  stop(key: string): void {
    const { random } = this.#world;
    const launchersFirst = random.chance(0.5);
    const endLaunchers = (): void => {
      for (const launcher of this.#launchersOf(key)) this.#endPod(launcher);
    };
    const endInstance = (): void => {
      const { etcd } = this.#world;
      if (etcd.get(INSTANCES.plural, key) === undefined) return;
      const left = this.#launchersOf(key);
      etcd.remove(INSTANCES, refOf(key));
      this.#soon(15_000, () => {
        for (const launcher of left) this.#endPod(launcher);
      });
    };
    if (launchersFirst) endLaunchers();
    this.#soon(10_000, endInstance);
  }

  /**
   * Brings the running guest to its VM's interfaces: what was plugged in and out, addresses only by a restart. What is
   * plugged in is the pool's to judge.
   */
  hotplug(key: string): void {
    const { etcd, tenancy, auditor } = this.#world;
    const [vm, vmi] = [etcd.get(MACHINES.plural, key), etcd.get(INSTANCES.plural, key)];
    if (vm === undefined || vmi === undefined) return;
    const running = nicsOf(vmi);
    const wanted = nicsOf(vm).filter(({ state }) => state !== "absent");
    const next = wanted.map((nic) => running.find(({ name }) => name === nic.name) ?? nic);
    if (JSON.stringify(next) === JSON.stringify(running)) return;
    const object = withInstanceNics(vmi, next);
    const { restores } = etcd;
    const made = auditor.provenanceOf(vm);
    if (!tenancy.manages("VirtualMachine", vm.metadata.namespace ?? "")) {
      this.#plug(vm, vmi, object, { made, isJudged: false }, restores);
      return;
    }
    const request = admissionRequest("VirtualMachineInstance", object, vmi, false);
    callWebhook(this.#world, request, START_TIMEOUT_MS, (said) => {
      if (said?.decision.answer.allowed === false) {
        this.#world.countRefusal(said.decision.refusal, `what is plugged into ${key}`);
        return;
      }
      this.#plug(vm, vmi, object, { made, isJudged: wasJudged(said) }, restores);
    });
  }

  /** What comes after the pool takes its time, and stores the change only on top of what was read. `made` as for a start. */
  #plug(
    vm: KubeObject,
    vmi: KubeObject,
    object: KubeObject,
    { made, isJudged }: { readonly made: Provenance | undefined; readonly isJudged: boolean },
    restores: number,
  ): void {
    const { scheduler, random } = this.#world;
    const delayMs = random.chance(0.03) ? random.between(1_000, 50_000) : random.between(0, 50);
    scheduler.after(delayMs, () => {
      const { etcd, auditor } = this.#world;
      const key = keyOf(vmi.metadata);
      if (etcd.restores !== restores) return;
      const current = etcd.get(INSTANCES.plural, key);
      if (current?.metadata.resourceVersion !== vmi.metadata.resourceVersion) return;
      if (etcd.get(MACHINES.plural, key)?.metadata.uid !== vm.metadata.uid) return;
      const provenance = auditor.provenanceOf(vm);
      if (provenance !== undefined) {
        const plugged = new Set(isJudged && !waitsForSync(vmi) ? macsHeld(object) : []);
        const isGated = auditor.provenanceOf(vmi)?.isGated ?? false;
        auditor.register("VirtualMachineInstance", key, { ...derived(asItWas(provenance, made)), isGated, plugged });
      }
      etcd.update(INSTANCES, object);
      this.#soon(8_000, () => {
        for (const launcher of this.#launchersOf(key)) this.#attach(launcher, key);
        this.#report(key);
      });
    });
  }

  /** The launchers of an instance that is not there any more end. */
  collect(): void {
    const { etcd } = this.#world;
    for (const launcher of etcd.list(PODS.plural)) {
      const owner = launcher.metadata.ownerReferences?.[0];
      if (owner === undefined) continue;
      const vmi = etcd.get(INSTANCES.plural, `${launcher.metadata.namespace}/${owner.name}`);
      if (vmi?.metadata.uid !== owner.uid) this.#endPod(launcher);
    }
  }

  #report(key: string): void {
    const { etcd } = this.#world;
    const vmi = etcd.get(INSTANCES.plural, key);
    if (vmi === undefined || waitsForSync(vmi)) return;
    const launchers = this.#launchersOf(key).filter((launcher) => !isOver(launcher));
    const pods = launchers.map((launcher) => etcd.update(PODS, running(launcher)));
    if (pods.length === 0) return;
    etcd.update(INSTANCES, { ...vmi, status: vmiStatus(vmi as VirtualMachineInstance, pods.at(-1), pods) });
  }

  /** A launcher has what was plugged in by the leave that its instance got for it. */
  #attach(launcher: KubeObject, key: string): void {
    const { etcd, auditor } = this.#world;
    const current = etcd.get(PODS.plural, keyOf(launcher.metadata));
    const vmi = etcd.get(INSTANCES.plural, key);
    if (current === undefined || vmi === undefined) return;
    const provenance = auditor.provenanceOf(vmi);
    if (provenance !== undefined) auditor.register("Pod", keyOf(launcher.metadata), derived(provenance));
    const { annotations } = launcherPod(vmi as VirtualMachineInstance).metadata;
    etcd.update(PODS, { ...current, metadata: { ...current.metadata, annotations } });
  }

  #endPod(launcher: KubeObject): void {
    const { etcd, random } = this.#world;
    const current = etcd.get(PODS.plural, keyOf(launcher.metadata));
    if (current === undefined) return;
    if (random.chance(0.5)) etcd.update(PODS, inPhase(current, random.pick(["Succeeded", "Failed"])));
    this.#soon(5_000, () => {
      if (etcd.get(PODS.plural, keyOf(launcher.metadata)) !== undefined)
        etcd.remove(PODS, refOf(keyOf(launcher.metadata)));
    });
  }

  #launchersOf(key: string): KubeObject[] {
    const { etcd } = this.#world;
    const vmi = etcd.get(INSTANCES.plural, key);
    if (vmi === undefined) return [];
    return etcd
      .list(PODS.plural, vmi.metadata.namespace)
      .filter(({ metadata }) => metadata.ownerReferences?.[0]?.uid === vmi.metadata.uid);
  }

  #soon(withinMs: number, run: () => void): void {
    this.#world.scheduler.after(this.#world.random.between(5, withinMs), run);
  }
}

const isOver = ({ status }: KubeObject): boolean =>
  ["Succeeded", "Failed"].includes((status as { readonly phase?: string } | undefined)?.phase ?? "");

/** Whoever gets no answer goes on, and so does whoever is warned that the question could not be answered. */
function wasJudged(said: Answer | undefined): boolean {
  return said !== undefined && (said.decision.answer.warnings ?? []).length === 0;
}

/** What an instance has that was made of a VM as it was then; `provenance` as it is now. */
function asItWas(provenance: Provenance, made: Provenance | undefined): Provenance {
  const granted = new Map(
    [...provenance.granted].map(([mac, sinceMs]) => [mac, made?.granted.get(mac) ?? sinceMs] as const),
  );
  return { ...provenance, granted, excused: new Set([...provenance.excused, ...(made?.excused ?? [])]) };
}

/** What a VM or VMI passes on to what is made of it. Its own addresses were chosen before. */
function derived(provenance: Provenance): Provenance {
  return { ...provenance, chosen: new Set(), judgedAnew: false };
}

/** Its guest does not run. */
const waitsForSync = (vmi: KubeObject): boolean =>
  (vmi.status as { readonly phase?: string } | undefined)?.phase === "WaitingForSync";

export function refOf(key: string): { namespace: string; name: string } {
  const [namespace = "", name = ""] = key.split("/");
  return { namespace, name };
}
