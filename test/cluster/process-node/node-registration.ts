/** The Node object, its status and its Lease: what makes a node known and keeps it Ready. */
import { readFileSync } from "node:fs";
import { isAlreadyExists, isNotFound } from "../../../src/kube/client/api-error.ts";
import type { Node } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { systemClock } from "../../../src/kube/clock.ts";
import { KUBERNETES_VERSION } from "../control-plane/programs.ts";
import { type NodePlan, podCidr } from "../network-plan.ts";
import { KUBELET_PORT } from "./kubelet-server.ts";

/** controller-manager here gives a node up after 5 s without renewal. */
const LEASE_SECONDS = 5;
const RENEW_INTERVAL_MS = 1000;
const STATUS_INTERVAL_MS = 10_000;
const RETRY_MS = 100;
const LEASE_NAMESPACE = "kube-node-lease";

const CAPACITY = { cpu: "16", memory: "64Gi", pods: "250", "ephemeral-storage": "100Gi" };
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

export class NodeRegistration {
  readonly #client: KubeClient;
  readonly #plan: NodePlan;
  readonly #log: (line: string) => void;
  readonly #since = timestamp();
  readonly #registered = Promise.withResolvers<void>();

  constructor(client: KubeClient, plan: NodePlan, log: (line: string) => void) {
    this.#client = client;
    this.#plan = plan;
    this.#log = log;
  }

  /** Resolves when the API server knows the node. */
  get registered(): Promise<void> {
    return this.#registered.promise;
  }

  /** Registers the node as soon as the API server answers, then keeps it alive until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const node = await this.#persistently("register", () => this.#register(), signal);
    this.#registered.resolve();
    let statusAt = -STATUS_INTERVAL_MS;
    while (!signal.aborted) {
      await this.#persistently("renew the lease", () => this.#renew(node), signal);
      if (performance.now() - statusAt >= STATUS_INTERVAL_MS) {
        await this.#persistently("report status", () => this.#report(), signal);
        statusAt = performance.now();
      }
      await systemClock.sleep(RENEW_INTERVAL_MS, signal);
    }
  }

  async #persistently<T>(what: string, step: () => Promise<T>, signal: AbortSignal): Promise<T> {
    let said = "";
    for (;;) {
      try {
        return await step();
      } catch (error) {
        const message = `${what}: ${error instanceof Error ? error.message : error}`;
        if (message !== said) this.#log(message);
        said = message;
        await systemClock.sleep(RETRY_MS, signal);
      }
    }
  }

  async #register(): Promise<Node> {
    const { name } = this.#plan;
    const node: Node = {
      metadata: {
        name,
        labels: { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": architecture },
      },
      spec: { podCIDR: podCidr(this.#plan), podCIDRs: [podCidr(this.#plan)] },
      status: this.#status(),
    };
    try {
      return await this.#client.create(RESOURCES.nodes, node);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return await this.#client.get(RESOURCES.nodes, { name });
    }
  }

  async #renew(node: Node): Promise<void> {
    const { name } = this.#plan;
    const spec = {
      holderIdentity: name,
      leaseDurationSeconds: LEASE_SECONDS,
      renewTime: new Date().toISOString().replace("Z", "000Z"),
    };
    const ref = { name, namespace: LEASE_NAMESPACE };
    try {
      await this.#client.patch(RESOURCES.leases, ref, { type: "merge", body: { spec } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const owner = { apiVersion: "v1", kind: "Node", name, uid: node.metadata.uid ?? "" };
      await this.#client.create(RESOURCES.leases, { metadata: { ...ref, ownerReferences: [owner] }, spec });
    }
  }

  async #report(): Promise<void> {
    const { conditions } = this.#status();
    const body = { status: { conditions } };
    await this.#client.patch(
      RESOURCES.nodes,
      { name: this.#plan.name },
      { type: "strategic", body },
      { subresource: "status" },
    );
  }

  #status() {
    const condition = (type: string, status: string, reason: string) => ({
      type,
      status,
      reason,
      message: reason,
      lastHeartbeatTime: timestamp(),
      lastTransitionTime: this.#since,
    });
    const { name, address } = this.#plan;
    return {
      capacity: CAPACITY,
      allocatable: CAPACITY,
      addresses: [
        { type: "InternalIP", address },
        { type: "Hostname", address: name },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: KUBELET_PORT } },
      conditions: [
        condition("Ready", "True", "KubeletReady"),
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID"),
      ],
      nodeInfo: {
        machineID: name,
        systemUUID: name,
        bootID: `${name}-${process.pid}-${Date.now()}`,
        kernelVersion: readFileSync("/proc/sys/kernel/osrelease", "utf8").trim(),
        osImage: "process node",
        containerRuntimeVersion: "process://1",
        kubeletVersion: `v${KUBERNETES_VERSION}`,
        kubeProxyVersion: "",
        operatingSystem: "linux",
        architecture,
      },
    };
  }
}

const architecture = ARCHITECTURES[process.arch] ?? process.arch;

/** RFC 3339 without fractions, as Kubernetes writes most of its times. */
const timestamp = (): string => `${new Date().toISOString().slice(0, 19)}Z`;
