/** One pod on this node, from its first sight to its deletion. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Container as ContainerSpec, ContainerStatus, PodCondition, PodStatus } from "kubernetes-types/core/v1.js";
import { isConflict, isNotFound } from "../../../src/kube/client/api-error.ts";
import type { Pod as PodObject } from "../../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { Container } from "./container.ts";
import { containerScript } from "./container-script.ts";
import { environmentOf, expand } from "./environment.ts";
import type { PodAddresses } from "./field-ref.ts";
import { findImage } from "./images.ts";
import { PODS_DIRECTORY, type PodContext } from "./pod-context.ts";
import type { PodNetwork } from "./pod-network.ts";
import { PodObjects } from "./pod-objects.ts";
import { podStatus } from "./pod-status.ts";
import { StatusWriter } from "./status-writer.ts";
import { makeVolumes } from "./volumes.ts";

const RETRY_MS = 300;
const NETWORK_RETRY_MS = 1000;
const DEFAULT_GRACE_SECONDS = 30;

const timestamp = (): string => `${new Date().toISOString().slice(0, 19)}Z`;

export class Pod {
  readonly #context: PodContext;
  readonly #status: StatusWriter;
  readonly #stop = new AbortController();
  readonly #containers = new Map<string, Container>();
  readonly #startTime = timestamp();
  readonly #lives: Promise<void>;
  /** With what their last exit code will be. */
  readonly #sidecars = new Map<Container, Promise<number>>();
  /** Container statuses of the node's life before this one. */
  readonly #before: readonly ContainerStatus[];
  #object: PodObject;
  #network: PodNetwork | undefined;
  #networkReady = false;
  #initialized = false;
  #conditions: readonly PodCondition[] = [];
  #stopped: Promise<void> | undefined;

  /** Begins to run the pod at once. */
  constructor(object: PodObject, context: PodContext) {
    this.#object = object;
    this.#context = context;
    const { conditions = [], containerStatuses = [], initContainerStatuses = [] } = object.status ?? {};
    this.#conditions = conditions;
    this.#before = [...containerStatuses, ...initContainerStatuses];
    this.#status = new StatusWriter(context.client, object, () => this.#currentStatus(), context.log);
    this.#lives = this.#live().catch((error: unknown) => {
      if (!this.#stop.signal.aborted) context.log(`pod ${this.key}: ${error instanceof Error ? error.stack : error}`);
    });
  }

  get key(): string {
    return `${this.#object.metadata.namespace}/${this.#object.metadata.name}`;
  }

  get uid(): string {
    return this.#object.metadata.uid ?? "";
  }

  /** The named container, or the first one. */
  container(name: string | null | undefined): Container | undefined {
    return this.#containers.get(name ?? this.#object.spec?.containers[0]?.name ?? "");
  }

  update(object: PodObject): void {
    this.#object = object;
  }

  /**
   * Ends the containers, takes the networks down and removes the pod from the API. `force`: it is gone from there
   * already, so nothing waits for a grace period.
   */
  stop(force: boolean): Promise<void> {
    this.#stopped ??= this.#tearDown(force);
    return this.#stopped;
  }

  async #live(): Promise<void> {
    const { spec } = this.#object;
    const signal = this.#stop.signal;
    this.#status.changed();
    if (!spec?.hostNetwork) await this.#makeNetwork();
    this.#networkReady = true;
    const objects = new PodObjects(this.#context.client, this.#object);
    const volumes = await this.#persistently("FailedMount", () =>
      makeVolumes({
        pod: this.#object,
        directory: join(this.#directory, "volumes"),
        addresses: this.#addresses,
        objects,
        log: this.#context.log,
        signal,
      }),
    );
    const make = (each: ContainerSpec, init: boolean): Container => {
      signal.throwIfAborted(); // a container made later would not be stopped
      const container = this.#makeContainer(each, init, volumes, objects);
      this.#containers.set(each.name, container);
      return container;
    };
    for (const each of spec?.initContainers ?? []) {
      const container = make(each, true);
      if (isSidecar(each)) {
        this.#sidecars.set(container, container.run());
        continue;
      }
      const code = await container.run();
      if (code !== 0) {
        await this.#status.flush();
        return;
      }
    }
    this.#initialized = true;
    await Promise.all((spec?.containers ?? []).map((each) => make(each, false).run()));
    await this.#status.flush();
  }

  /** A failed attempt leaves nothing behind; the next one starts with a new namespace, as a runtime does. */
  async #makeNetwork(): Promise<void> {
    const { networks, multus, events } = this.#context;
    let said = "";
    for (;;) {
      this.#stop.signal.throwIfAborted();
      let network: PodNetwork | undefined;
      try {
        network = await networks.make();
        await multus.attach(this.#object, network);
        this.#network = network;
        return;
      } catch (error) {
        if (network !== undefined) await networks.remove(network);
        const message = error instanceof Error ? error.message : String(error);
        if (message !== said) this.#context.log(`network of ${this.key}: ${message}`);
        said = message;
        events.event(this.#object, "Warning", "FailedCreatePodSandBox", message);
        await systemClock.sleep(NETWORK_RETRY_MS, this.#stop.signal);
      }
    }
  }

  async #persistently<T>(reason: string, step: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await step();
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        this.#context.events.event(this.#object, "Warning", reason, message);
        await systemClock.sleep(RETRY_MS, this.#stop.signal);
      }
    }
  }

  #makeContainer(
    spec: ContainerSpec,
    init: boolean,
    volumes: ReadonlyMap<string, string>,
    objects: PodObjects,
  ): Container {
    const { config } = this.#context;
    const { hostNetwork, restartPolicy = "Always", securityContext = {} } = this.#object.spec ?? {};
    const { name = "", namespace } = this.#object.metadata;
    const image = findImage(spec.image ?? "", config.images);
    const mountPoint = join(this.#directory, "root", spec.name);
    const terminationLog = join(this.#directory, `${spec.name}.termination`);
    const script = async (): Promise<string> => {
      if (image === undefined) throw new Error("no image");
      const env = await environmentOf(spec, this.#object, this.#addresses, objects);
      const argv = [...(spec.command ?? image.entrypoint), ...(spec.args ?? [])].map((word) => expand(word, env));
      await mkdir(mountPoint, { recursive: true });
      return containerScript({
        container: spec,
        podSecurity: securityContext,
        image,
        argv,
        env,
        hostname: hostNetwork ? config.plan.name : name,
        hosts: [`${this.#addresses.podIp} ${name}`],
        terminationLog,
        mountPoint,
        volumes,
      });
    };
    return new Container({
      spec,
      podUid: this.uid,
      image,
      restartPolicy: init && !isSidecar(spec) && restartPolicy === "Always" ? "OnFailure" : (restartPolicy as "Always"),
      script,
      networkNamespace: this.#network?.path,
      address: this.#addresses.podIp,
      directory: this.#directory,
      terminationLog,
      logFile: join(config.logDirectory, `${namespace}_${name}_${this.uid.slice(0, 8)}_${spec.name}.log`),
      restartCount: this.#earlierStarts(spec.name),
      changed: () => this.#status.changed(),
    });
  }

  /** A pod that ran here before the node was switched off keeps its restart counts. */
  #earlierStarts(container: string): number {
    const before = this.#before.find(({ name }) => name === container);
    return before?.containerID === undefined ? 0 : before.restartCount + 1;
  }

  async #tearDown(force: boolean): Promise<void> {
    const { networks, multus, log } = this.#context;
    const graceSeconds = force ? 0 : (this.#object.metadata.deletionGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS);
    this.#stop.abort(new Error(`pod ${this.key} is being stopped`));
    if (!force) this.#status.changed();
    const end = performance.now() + graceSeconds * 1000;
    const stop = (container: Container): Promise<void> => container.stop(end - performance.now());
    const others = [...this.#containers.values()].filter((container) => !this.#sidecars.has(container));
    await Promise.all(others.map(stop));
    await this.#lives;
    // Sidecars end after all others, the last one first.
    for (const [sidecar, ended] of [...this.#sidecars].reverse()) await Promise.all([stop(sidecar), ended]);
    if (this.#network !== undefined) {
      await multus.detach(this.#network).catch((error: Error) => log(`network of ${this.key}: ${error.message}`));
      await networks.remove(this.#network);
    }
    if (!force) {
      await this.#status.flush();
      await deletePod(this.#context, this.#object);
    }
    this.#status.close();
    await rm(this.#directory, { recursive: true, force: true });
  }

  get #directory(): string {
    return join(PODS_DIRECTORY, this.uid);
  }

  get address(): string {
    return this.#addresses.podIp;
  }

  get #addresses(): PodAddresses {
    const hostIp = this.#context.config.plan.address;
    return { hostIp, podIp: this.#network?.address ?? hostIp };
  }

  #currentStatus(): PodStatus {
    const { containers = [], initContainers = [] } = this.#object.spec ?? {};
    const waiting = (spec: ContainerSpec): ContainerStatus => ({
      name: spec.name,
      image: spec.image ?? "",
      imageID: "",
      ready: false,
      started: false,
      restartCount: 0,
      state: {
        waiting: { reason: this.#initialized || initContainers.length === 0 ? "ContainerCreating" : "PodInitializing" },
      },
    });
    const statusOf = (spec: ContainerSpec) => this.#containers.get(spec.name)?.status() ?? waiting(spec);
    const status = podStatus({
      pod: this.#object,
      startTime: this.#object.status?.startTime ?? this.#startTime,
      hostIp: this.#addresses.hostIp,
      podIp: this.#networkReady ? this.#addresses.podIp : undefined,
      initialized: this.#initialized,
      stopping: this.#stop.signal.aborted,
      containers: containers.map(statusOf),
      initContainers: initContainers.map((spec) => {
        const status = statusOf(spec);
        return isSidecar(spec) ? status : { ...status, ready: status.state?.terminated?.exitCode === 0 };
      }),
      previous: this.#conditions,
      now: timestamp(),
    });
    this.#conditions = status.conditions ?? [];
    return status;
  }
}

const isSidecar = ({ restartPolicy }: ContainerSpec): boolean => restartPolicy === "Always";

/** The last step of a deletion, which only the node may take. */
export async function deletePod({ client, log }: PodContext, { metadata }: PodObject): Promise<void> {
  const { name = "", namespace, uid } = metadata;
  try {
    await client.delete(RESOURCES.pods, { name, namespace }, { uid, gracePeriodSeconds: 0 });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) {
      log(`delete ${namespace}/${name}: ${error instanceof Error ? error.message : error}`);
    }
  }
}
