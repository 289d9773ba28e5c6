/**
 * Network namespaces on the real kernel: one plays the node, others are containers. Works as root, and without root
 * where the kernel gives an unprivileged user a user namespace. Every namespace is held by a process that ends with ours.
 */

import { type Holder, type Machine, type Outcome, THIS_MACHINE } from "./machine.ts";

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Buffer;
}

/** What `ip -json -details link` says, as far as tests look at it. */
export interface LinkView {
  readonly ifindex: number;
  readonly ifname: string;
  readonly address: string;
  readonly mtu: number;
  readonly flags: readonly string[];
  readonly operstate: string;
  readonly master?: string;
  readonly ifalias?: string;
  readonly promiscuity: number;
  readonly linkinfo?: {
    readonly info_kind?: string;
    readonly info_slave_data?: { readonly hairpin: boolean; readonly isolated: boolean; readonly state: string };
  };
}

const HOLD = ["sh", "-c", "echo; exec cat"];
/** The node has a /run of its own: what plugins leave there ends with it. */
const HOLD_NODE = ["--mount", "sh", "-c", "mount -t tmpfs tmpfs /run && echo && exec cat"];

export class Namespace implements AsyncDisposable {
  readonly machine: Machine;
  readonly #holder: Holder;
  readonly #ownFiles: boolean;

  /** `ownFiles`: it has a mount namespace too. */
  constructor(machine: Machine, holder: Holder, ownFiles = false) {
    this.machine = machine;
    this.#holder = holder;
    this.#ownFiles = ownFiles;
  }

  /** In a user namespace of its own where the machine is rootless. */
  static create(machine: Machine = THIS_MACHINE): Promise<Namespace> {
    return hold(machine, [...unshareUser(machine), "--net", ...HOLD]);
  }

  get pid(): number {
    return this.#holder.pid;
  }

  /** For CNI_NETNS. */
  get path(): string {
    return `/proc/${this.pid}/ns/net`;
  }

  /** The command line that runs another one in here. */
  enter(argv: readonly string[]): string[] {
    const user = this.machine.rootless ? ["-U", "--preserve-credentials"] : [];
    const files = this.#ownFiles ? ["-m"] : [];
    return ["nsenter", "-t", `${this.pid}`, ...user, ...files, "-n", "--", ...argv];
  }

  /** Runs a program with exactly this environment. */
  run(argv: readonly string[], { env = {}, input = "" }: RunOptions = {}): Promise<Outcome> {
    const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    return this.machine.run(this.enter(["env", "-i", ...assignments, ...argv]), input);
  }

  async ip(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.machine.run(this.enter([this.machine.ip, ...args]));
    if (code !== 0) throw new Error(`ip ${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  async links(): Promise<LinkView[]> {
    return JSON.parse(await this.ip("-json", "-details", "link", "show"));
  }

  async link(name: string): Promise<LinkView | undefined> {
    return (await this.links()).find(({ ifname }) => ifname === name);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#holder.end();
  }
}

export class Testbed implements AsyncDisposable {
  readonly node: Namespace;
  readonly #containers: Namespace[] = [];

  private constructor(node: Namespace) {
    this.node = node;
  }

  static async create(machine: Machine = THIS_MACHINE): Promise<Testbed> {
    return new Testbed(await hold(machine, [...unshareUser(machine), "--net", ...HOLD_NODE], true));
  }

  async container(): Promise<Namespace> {
    const { machine, pid } = this.node;
    const user = machine.rootless ? ["nsenter", "-t", `${pid}`, "-U", "--preserve-credentials", "--"] : [];
    const container = await hold(machine, [...user, "unshare", "--net", ...HOLD]);
    this.#containers.push(container);
    return container;
  }

  /** All that a call could change in the node and one container, without timers. */
  async state(container: Namespace): Promise<string> {
    const shown: string[] = [];
    for (const namespace of [this.node, container]) {
      shown.push(await namespace.ip("-details", "link", "show"), await namespace.ip("address", "show"));
    }
    return shown.join("").replaceAll(/(gc_timer|hello_timer|forward_delay_timer|hold_timer) +[\d.]+/g, "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const namespace of [...this.#containers, this.node]) await namespace[Symbol.asyncDispose]();
  }
}

const unshareUser = ({ rootless }: Machine): string[] => [
  "unshare",
  ...(rootless ? ["--user", "--map-root-user"] : []),
];

async function hold(machine: Machine, argv: readonly string[], ownFiles = false): Promise<Namespace> {
  const holder = await machine.hold(argv);
  if (holder === undefined) {
    throw new Error("network namespaces can't be made here: run as root, or allow unprivileged user namespaces");
  }
  return new Namespace(machine, holder, ownFiles);
}
