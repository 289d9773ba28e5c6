/**
 * One real node as the supervisor sees it: its namespaces, and kubelet, containerd and kube-proxy in them. It is the
 * supervisor's child with everything it starts, so nothing of it outlives the cluster.
 */
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type CommandResult, mustRun, runCommand } from "../cluster/command.ts";
import { Component } from "../cluster/control-plane/component.ts";
import { ipBatch } from "../cluster/ip-batch.ts";
import { type NodePlan, nodeLinks, nodeNamespace } from "../cluster/network-plan.ts";
import { childOf } from "../cluster/process-node/processes.ts";
import { plainEnv, searchPath } from "../cluster/requirements.ts";
import { eventually } from "../support/eventually.ts";
import type { NodeDirectories } from "./distributions.ts";
import { CONTAINERD_DIRECTORY, KUBERNETES_DIRECTORY, type NodeFile, PROGRAM_DIRECTORY } from "./node-config.ts";
import { BOOTED_FILE, diskDirectories, nodeScript } from "./node-root.ts";

/** The programs that a test can kill and start. */
export const SERVICES = ["containerd", "kubelet", "kube-proxy"] as const;
export type Service = (typeof SERVICES)[number];

export interface RealNodeOptions {
  readonly plan: NodePlan;
  /** All nodes, for the routes between them. */
  readonly nodes: readonly NodePlan[];
  readonly directories: NodeDirectories;
  readonly files: readonly NodeFile[];
  /** Executables of the node: containerd, its shim, ctr, runc, kubelet, kube-proxy, cnitool. */
  readonly programs: Readonly<Record<string, string>>;
  /** Executables that are in the CNI directory from the start. */
  readonly cniPlugins: readonly string[];
  /** Archives that every node has imported. */
  readonly images: readonly string[];
  readonly stateDirectory: string;
  readonly logDirectory: string;
  readonly onCrash: (error: Error) => void;
}

const PATH = `${PROGRAM_DIRECTORY}:${searchPath()}`;
const BOOT_LIMIT_MS = 60_000;

/** `init` is the node's pid 1 as this process sees it; its working directory is the node's root. */
const enterNode = (init: number, argv: readonly string[]): string[] => [
  ...["nsenter", `--target=${init}`, "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd", "--"],
  ...argv,
];

export class RealNode {
  readonly #options: RealNodeOptions;
  readonly #services = new Map<Service, Component>();
  #machine: Component | undefined;

  constructor(options: RealNodeOptions) {
    this.#options = options;
  }

  get #name(): string {
    return this.#options.plan.name;
  }

  /** Of commands on the node: ctr and cnitool find what they need. */
  get #commandEnv(): NodeJS.ProcessEnv {
    const { cniBinDir, cniConfigDir, criSocket } = this.#options.directories;
    return plainEnv({
      ...{ PATH, CONTAINERD_ADDRESS: criSocket, CONTAINERD_NAMESPACE: "k8s.io" },
      ...{ CNI_PATH: cniBinDir, NETCONFPATH: cniConfigDir },
    });
  }

  get #disk(): string {
    return join(this.#options.stateDirectory, `disk-${this.#name}`);
  }

  /** Lays out the disk: once, a reboot keeps it. */
  async install(): Promise<void> {
    const { files, cniPlugins, directories } = this.#options;
    const plugins = join(this.#disk, directories.cniBinDir);
    for (const directory of diskDirectories(directories)) await mkdir(join(this.#disk, directory), { recursive: true });
    for (const [path, target] of Object.entries(directories.links)) {
      const link = join(this.#disk, path);
      await mkdir(join(dirname(link), target), { recursive: true });
      await symlink(target, link);
    }
    for (const [path, content] of files) {
      await mkdir(dirname(join(this.#disk, path)), { recursive: true });
      await writeFile(join(this.#disk, path), content, { mode: 0o600 });
    }
    await mkdir(plugins, { recursive: true });
    for (const plugin of cniPlugins) {
      const file = join(plugins, plugin.slice(plugin.lastIndexOf("/") + 1));
      await copyFile(plugin, file);
      await chmod(file, 0o755);
    }
  }

  /** Network and file system, then containerd with the images. Its namespace is plugged in already. */
  async boot(): Promise<void> {
    const { plan, nodes, directories, stateDirectory, logDirectory, programs, images, onCrash } = this.#options;
    await ipBatch(nodeLinks(plan, nodes), nodeNamespace(plan));
    const mountPoint = join(stateDirectory, `root-${this.#name}`);
    await mkdir(mountPoint, { recursive: true });
    const machine = new Component({
      name: `node ${this.#name}`,
      argv: [
        ...["nsenter", `--net=/run/netns/${nodeNamespace(plan)}`],
        ...["unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child=KILL", "--propagation", "private"],
        ...["sh", "-c", nodeScript({ name: this.#name, mountPoint, disk: this.#disk, programs, directories })],
      ],
      logFile: join(logDirectory, `node-${this.#name}.log`),
      onCrash,
    });
    this.#machine = machine;
    await eventually(`node ${this.#name} boots`, () => existsSync(`/proc/${this.#init}/root${BOOTED_FILE}`), {
      limitMs: BOOT_LIMIT_MS,
      state: () => machine.logTail(),
    });
    await this.startService("containerd");
    for (const image of images) await this.#importImage(image);
  }

  /** Starts what talks to the API server. */
  async join(): Promise<void> {
    await this.startService("kubelet");
    await this.startService("kube-proxy");
  }

  /** Starts a service that is not running. Waits for containerd's socket; the others answer later. */
  async startService(service: Service): Promise<void> {
    if (this.#services.get(service)?.running) return;
    const component = new Component({
      name: `${service} of ${this.#name}`,
      // The second setpriv: what nsenter forks would outlive it.
      argv: enterNode(this.#init, ["setpriv", "--pdeathsig", "KILL", ...this.#command(service)]),
      env: { PATH },
      logFile: join(this.#options.logDirectory, `${service}-${this.#name}.log`),
      onCrash: this.#options.onCrash,
    });
    this.#services.set(service, component);
    if (service !== "containerd") return;
    await eventually(
      `containerd of ${this.#name} answers`,
      async () => (await this.exec(["ctr", "version"])).code === 0,
    );
  }

  /** Kills the service at once. Containers and their shims stay, as on any node. */
  async killService(service: Service): Promise<void> {
    await this.#services.get(service)?.[Symbol.asyncDispose]();
  }

  /** Ends everything on the node at once, as a power cut does. Its network and /run are gone; its disk stays. */
  async powerOff(): Promise<void> {
    await Promise.all(SERVICES.map((service) => this.killService(service)));
    const init = childOf(this.#machine?.process.pid);
    await this.#machine?.endWith(() => init !== undefined && process.kill(init, "SIGKILL"));
  }

  /** Runs a command as root in the node's namespaces. */
  exec(argv: readonly string[], stdin?: string): Promise<CommandResult> {
    return runCommand(enterNode(this.#init, argv), {
      env: this.#commandEnv,
      ...(stdin === undefined ? {} : { stdin }),
    });
  }

  get #init(): number {
    const init = this.#machine?.running ? childOf(this.#machine.process.pid) : undefined;
    if (init === undefined) throw new Error(`Node ${this.#name} is switched off`);
    return init;
  }

  async #importImage(archive: string): Promise<void> {
    // The archive is outside the node's file system.
    const argv = enterNode(this.#init, ["ctr", "images", "import", "-"]);
    await mustRun(["sh", "-c", '"$@" < "$0"', archive, ...argv], {
      env: this.#commandEnv,
    });
  }

  #command(service: Service): string[] {
    const config = (file: string): string => `${KUBERNETES_DIRECTORY}/${file}`;
    switch (service) {
      case "containerd":
        return ["containerd", `--config=${CONTAINERD_DIRECTORY}/config.toml`];
      case "kubelet": {
        const { kubeletDir, labels } = this.#options.directories;
        return [
          ...["kubelet", `--config=${config("kubelet.json")}`, `--kubeconfig=${config("kubelet.kubeconfig")}`],
          ...[`--root-dir=${kubeletDir}`, `--node-labels=${labelList(labels)}`],
          ...[`--hostname-override=${this.#name}`, `--node-ip=${this.#options.plan.address}`, "--v=2"],
        ];
      }
      case "kube-proxy":
        return ["kube-proxy", `--config=${config("kube-proxy.json")}`];
    }
  }
}

const labelList = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
