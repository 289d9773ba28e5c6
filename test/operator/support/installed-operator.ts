/**
 * The operator in this process on a real control plane, with nothing but the rights of deploy/release.yaml. There are no
 * nodes and no controller-manager: `rollOut` reports workloads as running where a test needs that.
 */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { Registry } from "prom-client";
import { NETWORK_ADDONS_CONFIGS } from "../../../src/api/kinds.ts";
import { DEFAULT_NAMESPACE, NETWORK_ADDONS_CONFIG_NAME, OPERATOR_NAME } from "../../../src/api/names.ts";
import type { NetworkAddonsConfig } from "../../../src/api/network-addons-config.ts";
import { isNotFound } from "../../../src/kube/client/api-error.ts";
import { KubeClient } from "../../../src/kube/client/client.ts";
import type { KubeObject, ObjectRef, Resource } from "../../../src/kube/client/resource.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { credentialsFromKubeconfig } from "../../../src/kube/credentials/credentials.ts";
import type { Log } from "../../../src/kube/log.ts";
import { appliedKind } from "../../../src/operator/apply/applied-kinds.ts";
import { DEFAULT_SETTINGS } from "../../../src/operator/config/settings.ts";
import { Operator } from "../../../src/operator/operator.ts";
import { EVERY_FACT } from "../../../src/operator/watch/facts.ts";
import type { ControlPlaneAccess } from "../../cluster/control-plane/access.ts";
import { borrowControlPlane } from "../../support/borrowed-control-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { CountingClient } from "./counting-client.ts";
import { CONSTRAINTS_CRD, PROMETHEUS_OPERATOR_CRDS } from "./external-kinds.ts";

export const CONFIGS: Resource<NetworkAddonsConfig> = NETWORK_ADDONS_CONFIGS;
export const NAMESPACE = DEFAULT_NAMESPACE;
/** Deadline of every wait for a condition. */
export const WITHIN = { timeout: 20_000, interval: 25 };

const RELEASE = join(import.meta.dirname, "../../../deploy/release.yaml");
export const OPERATOR_USER = `system:serviceaccount:${NAMESPACE}:${OPERATOR_NAME}`;

export interface InstallOptions {
  /** Without what `EVERY_FACT` says. */
  readonly bare?: boolean;
  /** A borrowed one by default. */
  readonly controlPlane?: ControlPlaneAccess;
}

export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export class InstalledOperator implements AsyncDisposable {
  readonly controlPlane: ControlPlaneAccess;
  readonly admin: KubeClient;
  readonly client: CountingClient;
  /** With the rights of the release. */
  readonly operatorKubeconfig: string;
  /** Of the operator that was started last. */
  metrics = new Registry();
  /** What the operator logged at warning level and above. */
  readonly warnings: string[] = [];
  /** How often it ended by itself, as after a restore of etcd, and was started anew. */
  restarts = 0;
  #settings = DEFAULT_SETTINGS;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  private constructor(
    controlPlane: ControlPlaneAccess,
    admin: KubeClient,
    client: CountingClient,
    operatorKubeconfig: string,
  ) {
    this.controlPlane = controlPlane;
    this.admin = admin;
    this.client = client;
    this.operatorKubeconfig = operatorKubeconfig;
  }

  /** Control plane up, release applied as a user does it; the operator is not started. */
  static async install({ bare = false, controlPlane }: InstallOptions = {}): Promise<InstalledOperator> {
    const installed = await InstalledOperator.prepare(controlPlane);
    if (!bare) {
      await installed.installPrometheusOperator();
      await installed.admin.create(RESOURCES.crds, CONSTRAINTS_CRD);
      await installed.publishApiServer(EVERY_FACT.apiServerPorts);
    }
    await installed.applyRelease();
    return installed;
  }

  /** Control plane up; nothing of the product is on it. The operator will be the account of that name in `namespace`. */
  static async prepare(given?: ControlPlaneAccess, namespace = NAMESPACE): Promise<InstalledOperator> {
    const controlPlane = given ?? (await borrowControlPlane());
    const admin = new KubeClient({ credentials: await credentialsFromKubeconfig(controlPlane.kubeconfig) });
    const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
    const kubeconfig = await controlPlane.userKubeconfig(`system:serviceaccount:${namespace}:${OPERATOR_NAME}`, groups);
    const credentials = await credentialsFromKubeconfig(kubeconfig);
    const client: CountingClient = new CountingClient({ credentials, onRestored: () => installed.#restart() });
    const installed: InstalledOperator = new InstalledOperator(controlPlane, admin, client, kubeconfig);
    return installed;
  }

  async applyRelease(): Promise<void> {
    const applied = await this.kubectl(["apply", "--server-side", "-f", RELEASE]);
    if (applied.code !== 0) throw new Error(applied.stderr);
  }

  async installPrometheusOperator(): Promise<void> {
    for (const crd of PROMETHEUS_OPERATOR_CRDS) await this.admin.create(RESOURCES.crds, crd);
  }

  /** What an API server keeps itself; those of tests do not. */
  async publishApiServer(ports: readonly number[]): Promise<void> {
    await this.admin.create(RESOURCES.endpointSlices, {
      metadata: { namespace: "default", name: "kubernetes" },
      addressType: "IPv4",
      endpoints: [{ addresses: ["192.0.2.1"] }],
      ports: ports.map((port) => ({ name: `https-${port}`, port })),
    });
  }

  start(settings = DEFAULT_SETTINGS): void {
    this.#settings = settings;
    this.#stop = new AbortController();
    this.metrics = new Registry();
    const { client, metrics } = this;
    const operator = new Operator({ client, settings, identity: "operator-1", log: this.#log(), metrics });
    this.#running = operator.run(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async kubectl(args: readonly string[], input = ""): Promise<KubectlResult> {
    const command = promisify(execFile)(this.controlPlane.kubectlPath, [
      "--kubeconfig",
      this.controlPlane.kubeconfig,
      ...args,
    ]);
    command.child.stdin?.end(input);
    try {
      return { code: 0, ...(await command) };
    } catch (error) {
      const { code, stdout, stderr } = error as KubectlResult;
      return { code, stdout, stderr };
    }
  }

  /** `kubectl apply` of a NetworkAddonsConfig with this spec. */
  applyConfig(spec: object, name = NETWORK_ADDONS_CONFIG_NAME): Promise<KubectlResult> {
    const config = {
      apiVersion: "networkaddonsoperator.network.kubevirt.io/v1",
      kind: "NetworkAddonsConfig",
      metadata: { name },
      spec,
    };
    return this.kubectl(["apply", "-f", "-"], JSON.stringify(config));
  }

  config(): Promise<NetworkAddonsConfig | undefined> {
    return this.find(CONFIGS, { name: NETWORK_ADDONS_CONFIG_NAME });
  }

  /** A node that only exists, Ready or not. */
  async addNode(name: string): Promise<void> {
    await this.admin.create(RESOURCES.nodes, { metadata: { name } });
    const status = { conditions: [{ type: "Ready", status: "True" }] };
    await this.admin.patch(RESOURCES.nodes, { name }, { type: "merge", body: { status } }, { subresource: "status" });
  }

  async find<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef): Promise<T | undefined> {
    try {
      return await this.admin.get(resource, ref);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async isThere(resource: Resource, ref: ObjectRef): Promise<boolean> {
    return (await this.find(resource, ref)) !== undefined;
  }

  /** Whether an object of this kind and name is there. */
  exists(object: KubeObject): Promise<boolean> {
    const { name = "", namespace } = object.metadata;
    return this.isThere(appliedKind(object).resource, { name, namespace });
  }

  until(holds: () => Promise<boolean>): Promise<unknown> {
    return eventually("a condition of the test", holds, { limitMs: WITHIN.timeout });
  }

  async condition(type: string): Promise<string | undefined> {
    return (await this.config())?.status?.conditions?.find((condition) => condition.type === type)?.status;
  }

  /** Reports every workload as running, again and again until the configuration is available. */
  async rollOutUntilAvailable(): Promise<void> {
    await this.until(async () => {
      await this.rollOut();
      const config = await this.config();
      const available = config?.status?.conditions?.find(({ type }) => type === "Available");
      return available?.status === "True" && config?.status?.observedGeneration === config?.metadata.generation;
    });
  }

  async rollOut(): Promise<void> {
    const { admin } = this;
    const { operandNamespace: namespace } = this.#settings;
    for (const live of (await admin.list(RESOURCES.deployments, { namespace })).items) {
      const replicas = live.spec?.replicas ?? 1;
      const observedGeneration = live.metadata.generation ?? 0;
      if (live.status?.observedGeneration === observedGeneration) continue;
      const status = {
        observedGeneration,
        replicas,
        updatedReplicas: replicas,
        readyReplicas: replicas,
        availableReplicas: replicas,
      };
      await this.#setStatus(RESOURCES.deployments, live, status);
    }
    for (const live of (await admin.list(RESOURCES.daemonSets, { namespace })).items) {
      const observedGeneration = live.metadata.generation ?? 0;
      if (live.status?.observedGeneration === observedGeneration) continue;
      const none = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };
      await this.#setStatus(RESOURCES.daemonSets, live, { observedGeneration, ...none });
    }
  }

  /** What the DaemonSet controller would write once it has pods on so many nodes, of which some are available. */
  async reportDaemonSet(ref: ObjectRef, nodes: number, available: number): Promise<void> {
    const scheduled = { desiredNumberScheduled: nodes, currentNumberScheduled: nodes, updatedNumberScheduled: nodes };
    const status = { ...scheduled, numberAvailable: available, numberUnavailable: nodes - available };
    const patch = { type: "merge" as const, body: { status } };
    await this.admin.patch(RESOURCES.daemonSets, ref, patch, { subresource: "status" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.client[Symbol.asyncDispose]();
    await this.admin[Symbol.asyncDispose]();
    await this.controlPlane[Symbol.asyncDispose]();
  }

  #log(fields: object = {}): Log {
    const note = (level: string) => (what: object | string, message?: string) => {
      const line = { level, ...fields, what: typeof what === "string" ? what : { ...what }, message };
      this.warnings.push(JSON.stringify(line, (_key, value) => (value instanceof Error ? plain(value) : value)));
    };
    const ignore = () => {};
    return {
      debug: ignore,
      info: ignore,
      warn: note("warn"),
      error: note("error"),
      child: (more) => this.#log({ ...fields, ...more }),
    };
  }

  /** What is left of the one that ended may say so once more, and is not heard. */
  #restart(): void {
    if (this.#stop.signal.aborted) return;
    this.restarts += 1;
    this.#stop.abort();
    this.start(this.#settings);
  }

  async #setStatus<T extends KubeObject>(resource: Resource<T>, live: T, status: object): Promise<void> {
    const { name = "", namespace } = live.metadata;
    const patch = { type: "merge" as const, body: { status } };
    try {
      await this.admin.patch(resource, { name, namespace }, patch, { subresource: "status" });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

const plain = (error: Error): object => ({ ...error, message: error.message });
