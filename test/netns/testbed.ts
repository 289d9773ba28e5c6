/**
 * Network namespaces on the real kernel: one plays the node, others are containers. Works as root, and without root
 * where the kernel gives an unprivileged user a user namespace. Every namespace is held by a process that ends with ours.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

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

const ROOTLESS = process.getuid?.() !== 0;
const HOLD = ["sh", "-c", "echo; exec cat"];
/** The node has a /run of its own: what plugins leave there ends with it. */
const HOLD_NODE = ["--mount", "sh", "-c", "mount -t tmpfs tmpfs /run && echo && exec cat"];

export class Namespace implements AsyncDisposable {
  readonly #holder: ChildProcess;
  readonly #ownFiles: boolean;

  /** `ownFiles`: it has a mount namespace too. */
  constructor(holder: ChildProcess, ownFiles = false) {
    this.#holder = holder;
    this.#ownFiles = ownFiles;
  }

  get pid(): number {
    return this.#holder.pid ?? 0;
  }

  /** For CNI_NETNS. */
  get path(): string {
    return `/proc/${this.pid}/ns/net`;
  }

  /** The command line that runs another one in here. */
  enter(argv: readonly string[]): string[] {
    const user = ROOTLESS ? ["--user", "--preserve-credentials"] : [];
    const files = this.#ownFiles ? ["--mount"] : [];
    return ["nsenter", `--target=${this.pid}`, ...user, ...files, "--net", "--", ...argv];
  }

  /** Runs a program with exactly this environment. */
  run(argv: readonly string[], { env = {}, input = "" }: RunOptions = {}): Promise<Outcome> {
    const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    return runProcess(this.enter(["env", "-i", ...assignments, ...argv]), input);
  }

  async ip(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runProcess(this.enter(["ip", ...args]));
    if (code !== 0) throw new Error(`ip ${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  async links(): Promise<LinkView[]> {
    return JSON.parse(await this.ip("-json", "-details", "link", "show"));
  }

  async link(name: string): Promise<LinkView | undefined> {
    return (await this.links()).find(({ ifname }) => ifname === name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#holder.exitCode !== null || this.#holder.signalCode !== null) return;
    const gone = once(this.#holder, "exit");
    this.#holder.kill("SIGKILL");
    await gone;
  }
}

export class Testbed implements AsyncDisposable {
  readonly node: Namespace;
  readonly #containers: Namespace[] = [];

  private constructor(node: Namespace) {
    this.node = node;
  }

  static async create(): Promise<Testbed> {
    const user = ROOTLESS ? ["--user", "--map-root-user"] : [];
    return new Testbed(await hold(["unshare", ...user, "--net", ...HOLD_NODE], true));
  }

  async container(): Promise<Namespace> {
    const user = ROOTLESS ? ["nsenter", `--target=${this.node.pid}`, "--user", "--preserve-credentials", "--"] : [];
    const container = await hold([...user, "unshare", "--net", ...HOLD]);
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

async function hold([command = "", ...args]: string[], ownFiles = false): Promise<Namespace> {
  const holder = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ready = await Promise.race([
    once(holder.stdout, "data").then(() => true),
    once(holder, "exit").then(() => false),
    once(holder, "error").then(() => false),
  ]);
  if (!ready) {
    throw new Error("network namespaces can't be made here: run as root, or allow unprivileged user namespaces");
  }
  return new Namespace(holder, ownFiles);
}

function runProcess([command = "", ...args]: string[], input: string | Buffer = ""): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
    const output = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output.stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      output.stderr += text;
    });
    // A program may end without reading all of its input.
    child.stdin.on("error", () => {}).end(input);
    child.on("error", reject).on("close", (code) => resolve({ code, ...output }));
  });
}
