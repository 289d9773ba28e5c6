/**
 * A second kernel on this machine, as an ordinary process (user-mode Linux), for what this machine's kernel lacks: VLAN
 * filtering of bridges, VLAN and dummy links. It sees this machine's files read-only, and one shared directory. Tests
 * use it as they use the machine itself; root is not needed.
 */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { findExecutable, searchPath } from "../cluster/requirements.ts";
import type { Machine } from "../netns/machine.ts";
import { ANSWER_MARK, type Ask, READY_MARK, type Reply, readMessage, writeMessage } from "./exchange.ts";
import { type GuestParts, moduleFiles } from "./packages.ts";

const MODULES = [
  ...["ipv6", "bridge", "veth", "dummy", "8021q"],
  ...["nf_tables", "nft_compat", "nft_ct", "nft_masq"],
  ...["iptable_nat", "ip6table_nat", "xt_comment", "xt_MASQUERADE"],
];
const MEMORY_MIB = 512;
const BOOT_TIMEOUT_MS = 60_000;
const CONSOLE_LINES_KEPT = 40;
/** The guest has nat tables for the older iptables only. */
const IPTABLES_PROGRAMS = {
  iptables: "iptables-legacy",
  ip6tables: "ip6tables-legacy",
  "iptables-save": "iptables-legacy-save",
  "ip6tables-save": "ip6tables-legacy-save",
};
/** Programs without shared libraries start several times faster in a guest. */
const BUSYBOX_PROGRAMS = ["sh", "cat", "env", "grep", "mount", "nsenter", "unshare"];

export interface GuestOptions {
  /** Kernel modules besides the usual ones. */
  readonly modules?: readonly string[];
  /** Of the kernel's command line. */
  readonly arguments?: readonly string[];
}

export class Guest implements Machine, AsyncDisposable {
  readonly rootless = false;
  readonly path: string;
  readonly ip: string;
  readonly shared: string;
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, { resolve(reply: Reply): void; reject(error: Error): void }>();
  readonly #console: string[] = [];
  readonly #ready = Promise.withResolvers<void>();
  #asked = 0;
  #failure: Error | undefined;

  private constructor(process: ChildProcess, shared: string, path: string) {
    this.#process = process;
    this.shared = shared;
    this.path = path;
    // By its path, because busybox prefers its own.
    this.ip = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"].find(existsSync) ?? "ip";
    if (process.stdout !== null) createInterface({ input: process.stdout }).on("line", (line) => this.#read(line));
    process.stdin?.on("error", () => {});
    process.once("exit", () => this.#fail(new Error(`the guest kernel ended:\n${this.#console.join("\n")}`)));
    process.once("error", (error) => this.#fail(error));
  }

  static async boot({ kernel, modules, busybox }: GuestParts, more: GuestOptions = {}): Promise<Guest> {
    const shared = mkdtempSync(path.join(tmpdir(), "guest-kernel-"));
    const files = moduleFiles(readFileSync(path.join(modules, "modules.dep"), "utf8"), [
      ...MODULES,
      ...(more.modules ?? []),
    ]);
    writeFileSync(path.join(shared, "modules"), files.map((file) => `${path.join(modules, file)}\n`).join(""));
    const programs = path.join(shared, "programs");
    mkdirSync(programs);
    for (const name of BUSYBOX_PROGRAMS) symlinkSync(busybox, path.join(programs, name));
    for (const [name, legacy] of Object.entries(IPTABLES_PROGRAMS)) {
      const found = findExecutable(legacy);
      if (found !== undefined) symlinkSync(found, path.join(programs, name));
    }
    const PATH = `${programs}:${searchPath()}`;
    const [init, agent] = ["init.sh", "agent.ts"].map((name) => path.join(import.meta.dirname, name));
    const registers = path.join(shared, "whole-registers.so");
    const source = path.join(import.meta.dirname, "whole-registers.c");
    execFileSync("cc", ["-shared", "-fPIC", "-O2", "-o", registers, source]);
    const settings = { BUSYBOX: busybox, SHARED: shared, AGENT: `${process.execPath} ${agent}`, PATH };
    const child = spawn(
      // The guest ends with this process, and the processes that stand for its own ones end with it.
      "setpriv",
      [
        ...["--pdeathsig=KILL", "unshare"],
        ...(process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"]),
        ...["--pid", "--fork", "--kill-child=KILL", kernel, `mem=${MEMORY_MIB}M`, `uml_dir=${shared}`, "con=null"],
        ...["con0=fd:0,fd:1", "root=/dev/root", "rootfstype=hostfs", "ro", "quiet", `init=${init}`],
        ...(more.arguments ?? []),
        ...Object.entries(settings).map(([name, value]) =>
          value.includes(" ") ? `${name}="${value}"` : `${name}=${value}`,
        ),
      ],
      {
        stdio: ["pipe", "pipe", "ignore"],
        env: { TMPDIR: memoryDirectory(), PATH: process.env.PATH ?? "", LD_PRELOAD: registers },
      },
    );
    const guest = new Guest(child, shared, PATH);
    const timeout = setTimeout(() => guest.#fail(new Error("the guest kernel did not start in time")), BOOT_TIMEOUT_MS);
    try {
      await guest.#ready.promise;
    } catch (error) {
      await guest[Symbol.asyncDispose]();
      throw error;
    } finally {
      clearTimeout(timeout);
    }
    return guest;
  }

  async run(argv: readonly string[], input: string | Buffer = "") {
    const reply = await this.#ask({ do: "run", argv, input: Buffer.from(input).toString("base64") });
    if ("outcome" in reply) return reply.outcome;
    throw new Error(`the guest could not run ${argv.join(" ")}: ${JSON.stringify(reply)}`);
  }

  async hold(argv: readonly string[]) {
    const reply = await this.#ask({ do: "hold", argv });
    if (!("pid" in reply)) throw new Error(`the guest could not start ${argv.join(" ")}: ${JSON.stringify(reply)}`);
    const { pid } = reply;
    return pid === undefined ? undefined : { pid, end: async () => void (await this.#ask({ do: "end", pid })) };
  }

  /** What the guest's kernel and first process said last. */
  get console(): string {
    return this.#console.join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null && this.#process.pid !== undefined) {
      const gone = once(this.#process, "exit");
      this.#process.kill("SIGKILL");
      await gone;
    }
    rmSync(this.shared, { recursive: true, force: true });
  }

  #ask(ask: Ask): Promise<Reply> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const number = ++this.#asked;
    writeMessage(this.shared, "ask", number, ask);
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      this.#process.stdin?.write(`${number}\n`);
    });
  }

  #read(line: string): void {
    if (line.startsWith(READY_MARK)) this.#ready.resolve();
    else if (line.startsWith(ANSWER_MARK)) this.#answered(Number(line.slice(ANSWER_MARK.length)));
    else if (this.#console.push(line) > CONSOLE_LINES_KEPT) this.#console.shift();
  }

  #answered(number: number): void {
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    const reply = readMessage<Reply>(this.shared, "reply", number);
    rmSync(path.join(this.shared, `reply-${number}.json`));
    waiting?.resolve(reply);
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#ready.reject(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

/** The guest's memory is a file, which is slower on a disk. */
function memoryDirectory(): string {
  const inMemory = "/dev/shm";
  if (!existsSync(inMemory)) return tmpdir();
  const { bavail, bsize } = statfsSync(inMemory);
  return bavail * bsize > 2 * MEMORY_MIB * 2 ** 20 ? inMemory : tmpdir();
}
