/**
 * A real Kubernetes control plane for tests: etcd, API server and, on request, controller-manager and scheduler, as
 * plain processes on a loopback address of their own. test/cluster/supervisor.ts starts the same inside a cluster's
 * namespaces, where nodes and Services are reachable too.
 *
 * Everything ends with this process, also when it is killed. A process that ends by itself is an error with the tail of
 * its log: during start from startControlPlane, later through `onCrash`, which by default is an uncaught error.
 */
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { controlPlaneTook } from "../../support/patience.ts";
import { requireSetpriv } from "../requirements.ts";
import { makeRunDirectory } from "../run-directory.ts";
import { ADMIN_GROUP, ControlPlaneAccess } from "./access.ts";
import {
  apiServerArguments,
  CONTROLLER_MANAGER_USER,
  type ControlPlaneAddresses,
  controllerManagerArguments,
  etcdArguments,
  KUBELET_CLIENT,
  KUBERNETES_SERVICE_ADDRESS,
  SCHEDULER_USER,
  schedulerArguments,
} from "./arguments.ts";
import { Authority, type KeyPair, tokenKeys } from "./authority.ts";
import { type Binaries, ensureBinaries } from "./binaries.ts";
import { Component, throwUncaught } from "./component.ts";
import { ownLoopbackAddress } from "./loopback.ts";
import { waitUntil } from "./readiness.ts";

/** Further arguments; the last of two equal ones counts. */
export interface ControlPlaneArguments {
  readonly apiServerArguments?: readonly string[];
  readonly controllerManagerArguments?: readonly string[];
}

export interface ControlPlaneOptions extends ControlPlaneArguments {
  readonly controllerManager?: boolean;
  readonly scheduler?: boolean;
  readonly onCrash?: (error: Error) => void;
  /** The cluster's CA; a new one by default. */
  readonly authority?: Authority;
  /** Executables; built or found by default. */
  readonly binaries?: Binaries;
  /** Where to listen; a loopback address of its own by default. */
  readonly addresses?: ControlPlaneAddresses;
  /** For state and kubeconfigs; a temporary one by default. */
  readonly directory?: string;
  /** For one log file a process; `directory` by default. */
  readonly logDirectory?: string;
}

const API_SERVER_PORT = 6443;
const ETCD_PORT = 2379;
/** etcd's client and peer port, controller-manager's, scheduler's. */
const LOCAL_PORTS = 4;
/** In percent, as Go counts: a control plane lives for seconds only, collecting garbage less often saves it work. */
const GOGC = "600";
/** Go collects more often before the machine runs out of memory, in a large cluster. */
const GOMEMLIMIT = "9GiB";
const READY_DEADLINE_MS = 60_000;
const MANAGERS = ["kube-controller-manager", "kube-scheduler"] as const;

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  requireSetpriv();
  const binaries = options.binaries ?? (await ensureBinaries());
  const directory = options.directory ?? (await makeRunDirectory());
  const addresses = options.addresses ?? (await loopbackAddresses());
  const authority = options.authority ?? (await Authority.create("test-cluster"));
  const controlPlane = new ControlPlane(options, binaries, directory, addresses, authority);
  try {
    const startedMs = performance.now();
    await controlPlane.start();
    controlPlaneTook(performance.now() - startedMs);
    return controlPlane;
  } catch (error) {
    await controlPlane[Symbol.asyncDispose]();
    throw error;
  }
}

async function loopbackAddresses(): Promise<ControlPlaneAddresses> {
  const local = Array.from({ length: LOCAL_PORTS }, (_, index) => ETCD_PORT + index);
  const address = await ownLoopbackAddress([API_SERVER_PORT, ...local]);
  return { address, port: API_SERVER_PORT, etcdAddress: address, etcdPort: ETCD_PORT, published: false };
}

export class ControlPlane extends ControlPlaneAccess {
  readonly #options: ControlPlaneOptions;
  readonly #binaries: Binaries;
  readonly #addresses: ControlPlaneAddresses;
  readonly #components = new Map<string, Component>();
  readonly #failed = Promise.withResolvers<never>();
  #started = false;

  constructor(
    options: ControlPlaneOptions,
    binaries: Binaries,
    directory: string,
    addresses: ControlPlaneAddresses,
    authority: Authority,
  ) {
    super({
      url: `https://${addresses.address}:${addresses.port}`,
      etcdUrl: `http://${addresses.etcdAddress}:${addresses.etcdPort}`,
      kubectlPath: binaries.kubectl,
      directory,
      authority,
    });
    this.#options = options;
    this.#binaries = binaries;
    this.#addresses = addresses;
    this.#failed.promise.catch(() => {});
  }

  /** Rejects when a program of the control plane ends by itself. */
  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  async start(): Promise<void> {
    await mkdir(this.#pki, { recursive: true, mode: 0o700 });
    await mkdir(join(this.directory, "etcd"), { recursive: true, mode: 0o700 });
    this.#launchEtcd();
    await this.#writeKeys();
    this.#launchApiServer();
    await this.#apiServerReady();
    await this.#writeManagersCredentials();
    this.#launchManagers();
    this.#started = true;
  }

  /** Of a program that runs. */
  pidOf(name: "etcd" | "kube-apiserver"): number {
    const pid = this.#components.get(name)?.process.pid;
    if (pid === undefined) throw new Error(`${name} does not run`);
    return pid;
  }

  /** Kills the API server and leaves it dead, as a test of what survives that. */
  async killApiServer(): Promise<void> {
    await this.#components.get("kube-apiserver")?.[Symbol.asyncDispose]();
  }

  /** SIGSTOP: its connections stay open, and nothing is answered. */
  pauseApiServer(): void {
    this.#components.get("kube-apiserver")?.process.kill("SIGSTOP");
  }

  resumeApiServer(): void {
    this.#components.get("kube-apiserver")?.process.kill("SIGCONT");
  }

  /** Kills the API server if it runs, starts it again and waits until it is ready. */
  async restartApiServer(): Promise<void> {
    await this.killApiServer();
    this.#launchApiServer();
    await this.#apiServerReady();
  }

  /** Copies what etcd has stored, to be restored later. etcd is away meanwhile. */
  async saveEtcd(): Promise<void> {
    await this.#components.get("etcd")?.[Symbol.asyncDispose]();
    await cp(this.#files.etcd, this.#savedEtcd, { recursive: true });
    this.#launchEtcd();
    await this.#apiServerReady();
  }

  /**
   * Puts back what was saved, as an administrator does: the API server ends, etcd goes back, versions are given again. Managers
   * are started anew.
   */
  async restoreEtcd(): Promise<void> {
    for (const name of MANAGERS) await this.#components.get(name)?.[Symbol.asyncDispose]();
    await this.killApiServer();
    await this.#components.get("etcd")?.[Symbol.asyncDispose]();
    await rm(this.#files.etcd, { recursive: true });
    await cp(this.#savedEtcd, this.#files.etcd, { recursive: true });
    this.#launchEtcd();
    this.#launchApiServer();
    await this.#apiServerReady();
    this.#launchManagers();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#components.values()].map((component) => component[Symbol.asyncDispose]()));
    if (this.#options.directory === undefined) await rm(this.directory, { recursive: true, force: true });
  }

  get #pki(): string {
    return join(this.directory, "pki");
  }

  get #files(): { pki: string; etcd: string } {
    return { pki: this.#pki, etcd: join(this.directory, "etcd") };
  }

  async #writeKeys(): Promise<void> {
    const { authority } = this;
    const write = (name: string, text: string): Promise<void> =>
      writeFile(join(this.#pki, name), text, { mode: 0o600 });
    const writePair = async (name: string, pair: KeyPair): Promise<void> => {
      await Promise.all([write(`${name}.crt`, pair.cert), write(`${name}.key`, pair.key)]);
    };
    const tokens = tokenKeys();
    await Promise.all([
      write("ca.crt", authority.certificate),
      write("ca.key", await authority.privateKey()),
      write("tokens.key", tokens.privateKey),
      write("tokens.pub", tokens.publicKey),
      writePair(
        "apiserver",
        await authority.issue({
          commonName: "kube-apiserver",
          dnsNames: ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"],
          addresses: [this.#addresses.address, KUBERNETES_SERVICE_ADDRESS, "127.0.0.1"],
          usage: ["server"],
        }),
      ),
      writePair(
        "kubelet-client",
        await authority.issue({
          commonName: KUBELET_CLIENT,
          groups: [ADMIN_GROUP],
          usage: ["client"],
        }),
      ),
      this.becomeAdmin(),
    ]);
  }

  async #writeManagersCredentials(): Promise<void> {
    const write = async (name: string, user: string): Promise<void> =>
      writeFile(join(this.#pki, `${name}.kubeconfig`), await this.userKubeconfig(user), { mode: 0o600 });
    if (this.#options.controllerManager) await write("controller-manager", CONTROLLER_MANAGER_USER);
    if (this.#options.scheduler) await write("scheduler", SCHEDULER_USER);
  }

  #launchManagers(): void {
    const [controllerManager, scheduler] = MANAGERS;
    if (this.#options.controllerManager) {
      this.#launch(controllerManager, this.#binaries.controllerManager, [
        ...controllerManagerArguments(this.#addresses, this.#pki),
        ...(this.#options.controllerManagerArguments ?? []),
      ]);
    }
    if (this.#options.scheduler) {
      this.#launch(scheduler, this.#binaries.scheduler, schedulerArguments(this.#addresses, this.#pki));
    }
  }

  get #savedEtcd(): string {
    return join(this.directory, "etcd-saved");
  }

  #launchEtcd(): void {
    this.#launch("etcd", this.#binaries.etcd, etcdArguments(this.#addresses, this.#files));
  }

  #launchApiServer(): void {
    const args = apiServerArguments(this.#addresses, this.#files);
    this.#launch("kube-apiserver", this.#binaries.kubeApiserver, [
      ...args,
      ...(this.#options.apiServerArguments ?? []),
    ]);
  }

  async #apiServerReady(): Promise<void> {
    const ready = async (): Promise<boolean> => (await this.request("GET", "/readyz"))?.status === 200;
    await waitUntil("API server ready", ready, READY_DEADLINE_MS, this.failed);
  }

  #launch(name: string, program: string, args: readonly string[]): void {
    const component = new Component({
      name,
      argv: [program, ...args],
      logFile: join(this.#options.logDirectory ?? this.directory, `${name}.log`),
      cwd: this.directory,
      env: { GOGC, GOMEMLIMIT },
      onCrash: (error) => {
        this.#failed.reject(error);
        if (this.#started) (this.#options.onCrash ?? throwUncaught)(error);
      },
    });
    this.#components.set(name, component);
  }
}
