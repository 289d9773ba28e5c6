/**
 * The MAC pool on a real API server: replicas are processes of src/mac-pool/main.ts with rights and webhook configuration
 * as the operator renders them, behind a TCP balancer in the place of the Service.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Registry } from "prom-client";
import { MAC_CLAIM_CRD, MAC_POOL_CRD, NODE_MACS_CRD } from "../../src/api/crds.ts";
import { IMAGE_ENV, MANAGER_NODE_FLAGS } from "../../src/api/image.ts";
import type { MACClaim } from "../../src/api/mac-claim.ts";
import type { MacPoolSpec } from "../../src/api/mac-pool.ts";
import { MAC_POOL_SERVICE } from "../../src/api/names.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import type { Clock } from "../../src/kube/clock.ts";
import { credentialsFromKubeconfig } from "../../src/kube/credentials/credentials.ts";
import { silentLog } from "../../src/kube/log.ts";
import type { ServerCertificate } from "../../src/kube/server/certificate-source.ts";
import { Listeners } from "../../src/mac-pool/listeners.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { LEASE_NAME, Replica } from "../../src/mac-pool/replica.ts";
import { MANAGER_ACCOUNT, macPoolAccess } from "../../src/operator/components/kube-mac-pool-access.ts";
import { macPoolWebhooks } from "../../src/operator/components/kube-mac-pool-webhooks.ts";
import type { ControlPlaneAccess } from "../cluster/control-plane/access.ts";
import { Component } from "../cluster/control-plane/component.ts";
import { kubevirtCrds } from "../cluster/kubevirt/crds.ts";
import { borrowControlPlane } from "../support/borrowed-control-plane.ts";
import { createAny } from "../support/create-any.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { webhooksAt } from "../support/webhooks-at.ts";
import { issueToken, kubeconfigAccount, mountedAccount } from "./account.ts";
import { Balancer } from "./balancer.ts";
import { machine } from "./machines.ts";

export const POOL_NAMESPACE = "pool-system";

const LOOPBACK = "127.0.0.1";
/** A test that puts the clock forward does not want to lose the lease by it. */
const PATIENT_LEASE = { leaseDurationMs: 86_400_000, renewDeadlineMs: 43_200_000, retryPeriodMs: 2_000 };
const RESTORED = "as after a restore of etcd: this process ends";
const MAIN = join(import.meta.dirname, "../../src/mac-pool/main.ts");

export interface PoolFixtureOptions {
  readonly kubevirt?: boolean;
  /** Where to make it; a borrowed one by default. Ends with the fixture. */
  readonly controlPlane?: ControlPlaneAccess;
  /** Where that API server reaches `machinePort` of this machine's loopback; by default at any port of it. */
  readonly reachedAt?: Address & { readonly machinePort: number };
}

interface Address {
  readonly host: string;
  readonly port: number;
}

interface Running {
  component: Component;
  readonly httpsPort: number;
  readonly inspectionPort: number;
  readonly healthPort: number;
}

interface Parts {
  readonly balancer: Balancer;
  readonly token: string;
  readonly serving: ServerCertificate;
  readonly address: Address;
}

export class PoolFixture implements AsyncDisposable {
  readonly controlPlane: ControlPlaneAccess;
  readonly admin: KubeClient;
  readonly #parts: Parts;
  /** Replicas that ended because etcd was restored. They are started anew, as by the kubelet. */
  readonly restarts: string[] = [];
  readonly #replicas = new Map<string, Running>();

  private constructor(controlPlane: ControlPlaneAccess, admin: KubeClient, parts: Parts) {
    this.controlPlane = controlPlane;
    this.admin = admin;
    this.#parts = parts;
  }

  static async start(options: PoolFixtureOptions = {}): Promise<PoolFixture> {
    const controlPlane = options.controlPlane ?? (await borrowControlPlane());
    const admin = new KubeClient({ credentials: await credentialsFromKubeconfig(controlPlane.kubeconfig) });
    const crds = [MAC_POOL_CRD, MAC_CLAIM_CRD, NODE_MACS_CRD, ...(options.kubevirt === false ? [] : kubevirtCrds())];
    for (const crd of crds) await admin.create(RESOURCES.crds, crd as never);
    await admin.create(RESOURCES.namespaces, { metadata: { name: POOL_NAMESPACE } });
    for (const object of macPoolAccess(POOL_NAMESPACE, {})) await createAny(admin, object);
    const serving = await controlPlane.authority.issue({
      commonName: MAC_POOL_SERVICE,
      addresses: [options.reachedAt?.host ?? LOOPBACK],
      usage: ["server"],
    });
    await admin.create(RESOURCES.secrets, {
      metadata: { name: MAC_POOL_SERVICE, namespace: POOL_NAMESPACE },
      data: { "tls.crt": btoa(serving.cert), "tls.key": btoa(serving.key) },
    });
    const token = await issueToken(admin, { name: MANAGER_ACCOUNT, namespace: POOL_NAMESPACE });
    const { reachedAt } = options;
    const balancer = await Balancer.listen(reachedAt?.machinePort);
    const address = reachedAt ?? { host: LOOPBACK, port: balancer.port };
    return new PoolFixture(controlPlane, admin, { balancer, token, serving, address });
  }

  /** From now on the API server asks the replicas, under a name that their certificate is for. */
  async registerWebhooks(host = this.#parts.address.host): Promise<void> {
    const url = `https://${host}:${this.#parts.address.port}`;
    const hooks = webhooksAt(macPoolWebhooks(POOL_NAMESPACE, {}), url, this.controlPlane.authority.certificate);
    await this.admin.create(RESOURCES.mutatingWebhookConfigurations, hooks as never);
    // The API server takes its time to act on a new configuration; it does once it refuses what the pool would refuse.
    await eventually("the API server asks the webhook", async () => {
      const probe = machine("probe", "default", [{ name: "a", macAddress: "not-a-mac" }]);
      const answer = await this.admin
        .create(KINDS.virtualMachines, probe, { dryRun: true })
        .catch((error: Error) => error);
      return answer instanceof Error && answer.message.includes("invalid MAC address format");
    });
  }

  async createPool(name: string, spec: MacPoolSpec): Promise<void> {
    await this.admin.create(KINDS.pools, { metadata: { name }, spec });
    await eventually(`the status of pool ${name}`, async () => {
      const pool = await this.admin.get(KINDS.pools, { name });
      return pool.status?.observedGeneration === pool.metadata.generation;
    });
    await this.everyReplicaKnows(name, (await this.admin.get(KINDS.pools, { name })).status?.capacity ?? 0);
  }

  /** Until each replica that runs as a process has the pool with so many addresses; the leader may be the first. */
  async everyReplicaKnows(pool: string, capacity: number): Promise<void> {
    const line = `kubevirt_macpool_capacity{pool="${pool}"} ${capacity}\n`;
    await eventually(`every replica knows ${capacity} addresses of pool ${pool}`, async () => {
      const texts = await Promise.all([...this.#replicas.keys()].map((name) => this.metrics(name)));
      return texts.every((text) => text.includes(line));
    });
  }

  /** Starts a replica, waits until it is ready, resolves with its process ID. `asPod`: with its account as in a pod. */
  async startReplica(name: string, asPod = false): Promise<number> {
    const [httpsPort, inspectionPort, healthPort] = [await freePort(), await freePort(), await freePort()];
    const directory = join(this.controlPlane.directory, name);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const account = asPod
      ? await mountedAccount(directory, this.#parts.token, POOL_NAMESPACE, this.controlPlane)
      : await kubeconfigAccount(directory, this.#kubeconfig());
    const options = {
      name,
      argv: [...account.argv, process.execPath, ...MANAGER_NODE_FLAGS, MAIN],
      logFile: join(this.controlPlane.directory, `${name}.log`),
      env: {
        ...{ ...IMAGE_ENV, ...account.env },
        POD_NAME: name,
        POD_NAMESPACE: POOL_NAMESPACE,
        HTTPS_PORT: String(httpsPort),
        INSPECTION_PORT: String(inspectionPort),
        HEALTH_PORT: String(healthPort),
        TLS_SECRET: MAC_POOL_SERVICE,
        LOG_LEVEL: asPod ? "info" : "debug",
      },
      onCrash: (error: Error) => {
        const replica = this.#replicas.get(name);
        if (replica === undefined) return;
        if (!error.message.includes(RESTORED)) throw error;
        this.restarts.push(name);
        replica.component = new Component(options);
      },
    };
    const component = new Component(options);
    this.#replicas.set(name, { component, httpsPort, inspectionPort, healthPort });
    await eventually(`replica ${name} is ready`, async () => {
      if (!component.running) throw new Error(component.logTail());
      return (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).status === 200;
    });
    this.#parts.balancer.add(httpsPort);
    return component.process.pid ?? 0;
  }

  /** A replica in this process, with a clock of the test's. Ends with `running`, once the signal aborts. */
  async startInProcess(
    name: string,
    clock: Clock,
    metrics: Registry,
    signal: AbortSignal,
  ): Promise<{ readonly replica: Replica; readonly running: Promise<void> }> {
    const credentials = await credentialsFromKubeconfig(this.#kubeconfig());
    const client = new KubeClient({ credentials });
    const tls = { current: () => this.#parts.serving, onChange: () => () => {} };
    const ports = { port: 0, inspectionPort: 0, host: LOOPBACK };
    const who = { credentials, self: { name, namespace: POOL_NAMESPACE } };
    const listening = { client, inspectionClient: client, ...ports, ...who, webhookTls: tls, tls, registry: metrics };
    const replica = new Replica({
      client,
      identity: name,
      namespace: POOL_NAMESPACE,
      tls,
      listen: (served) => new Listeners({ ...listening, log: silentLog }, served),
      log: silentLog,
      metrics,
      clock,
      settleMs: 0,
      lease: PATIENT_LEASE,
    });
    const running = replica.run(signal).finally(() => client[Symbol.asyncDispose]());
    await eventually(`replica ${name} is ready and leads`, () => replica.readiness() === true && replica.isLeader);
    this.#parts.balancer.add(replica.port);
    return { replica, running };
  }

  /** SIGKILL, as a node that loses power: nothing is released or finished. */
  async killReplica(name: string): Promise<void> {
    const replica = this.#running(name);
    this.#replicas.delete(name);
    replica.component.process.kill("SIGKILL");
    await replica.component.ended;
    this.#parts.balancer.remove(replica.httpsPort);
  }

  /** SIGSTOP, as a node that hangs: its connections stay open. New ones go elsewhere, as after a failed probe. */
  pauseReplica(name: string): void {
    const { component, httpsPort } = this.#running(name);
    this.#parts.balancer.remove(httpsPort);
    component.process.kill("SIGSTOP");
  }

  resumeReplica(name: string): void {
    const { component, httpsPort } = this.#running(name);
    component.process.kill("SIGCONT");
    this.#parts.balancer.add(httpsPort);
  }

  /** SIGTERM, as a rolling update. Resolves with the exit code. */
  async stopReplica(name: string): Promise<number | null> {
    const replica = this.#running(name);
    this.#replicas.delete(name);
    this.#parts.balancer.remove(replica.httpsPort);
    replica.component.process.kill("SIGTERM");
    await replica.component.ended;
    return replica.component.process.exitCode;
  }

  logOf(name: string): string {
    return this.#running(name).component.logTail();
  }

  /** Name of the replica that leads, once one does. */
  async leader(): Promise<string> {
    let holder = "";
    await eventually("a replica leads", async () => {
      const ref = { name: LEASE_NAME, namespace: POOL_NAMESPACE };
      const lease = await this.admin.get(RESOURCES.leases, ref).catch(() => undefined);
      holder = lease?.spec?.holderIdentity ?? "";
      return this.#replicas.has(holder);
    });
    return holder;
  }

  httpsUrl(name: string): string {
    return `https://127.0.0.1:${this.#running(name).httpsPort}`;
  }

  inspectionUrl(name: string): string {
    return `https://127.0.0.1:${this.#running(name).inspectionPort}`;
  }

  async metrics(name: string): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.#running(name).healthPort}/metrics`)).text();
  }

  async claim(mac: string): Promise<MACClaim | undefined> {
    return (await this.claims()).find(({ spec }) => spec.mac === mac);
  }

  async claims(): Promise<MACClaim[]> {
    return (await this.admin.list(KINDS.claims)).items;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const replicas = [...this.#replicas.values()];
    this.#replicas.clear();
    await Promise.all(replicas.map(({ component }) => component[Symbol.asyncDispose]()));
    await this.#parts.balancer[Symbol.asyncDispose]();
    await this.admin[Symbol.asyncDispose]();
    await this.controlPlane[Symbol.asyncDispose]();
  }

  #running(name: string): Running {
    const replica = this.#replicas.get(name);
    if (replica === undefined) throw new Error(`replica ${name} does not run`);
    return replica;
  }

  #kubeconfig(): string {
    return this.controlPlane.tokenKubeconfig(this.#parts.token);
  }
}
