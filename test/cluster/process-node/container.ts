/** One container of a pod: started, probed, started again with back-off, and ended. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, renameSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ContainerState, ContainerStatus, Container as Spec } from "kubernetes-types/core/v1.js";
import { systemClock } from "../../../src/kube/clock.ts";
import { exitCode } from "../command.ts";
import { plainEnv } from "../requirements.ts";
import { STARTED_FD } from "./container-script.ts";
import type { Image } from "./images.ts";
import { Prober } from "./prober.ts";
import { catchesTerm, childOf } from "./processes.ts";

export interface ContainerOptions {
  readonly spec: Spec;
  readonly podUid: string;
  readonly image: Image | undefined;
  /** When the container starts again: after each end, after a failure, or never. */
  readonly restartPolicy: "Always" | "OnFailure" | "Never";
  /** The script of the container's first process; rejects while its environment can't be had. */
  readonly script: () => Promise<string>;
  /** Path of the pod's network namespace; undefined for the node's. */
  readonly networkNamespace: string | undefined;
  /** Where probes find the container. */
  readonly address: string;
  readonly directory: string;
  /** What it says there is its message when it has ended. */
  readonly terminationLog: string;
  readonly logFile: string;
  /** Starts of earlier lives of the node. */
  readonly restartCount: number;
  readonly changed: () => void;
}

const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 5000;
/** A container that ran for this time starts again at once. */
const HEALTHY_MS = 60_000;
const CONFIG_RETRY_MS = 500;
const TERM_POLL_MS = 20;
const KILLED = 137;

const timestamp = (): string => `${new Date().toISOString().slice(0, 19)}Z`;

export class Container {
  readonly spec: Spec;
  readonly #options: ContainerOptions;
  readonly #stop = new AbortController();
  #state: ContainerState = { waiting: { reason: "ContainerCreating" } };
  #lastState: ContainerState | undefined;
  #restartCount: number;
  #process: ChildProcess | undefined;
  #prober: Prober | undefined;
  #killed = false;

  constructor(options: ContainerOptions) {
    this.spec = options.spec;
    this.#options = options;
    this.#restartCount = options.restartCount;
  }

  get logFile(): string {
    return this.#options.logFile;
  }

  get running(): boolean {
    return this.#state.running !== undefined;
  }

  get terminated(): ContainerState["terminated"] {
    return this.#state.terminated;
  }

  get ready(): boolean {
    return this.running && !this.#stop.signal.aborted && (this.#prober?.ready ?? false);
  }

  /** Its first process, as the node sees it. */
  get pid(): number | undefined {
    return this.running ? childOf(this.#process?.pid) : undefined;
  }

  status(): ContainerStatus {
    const { image } = this.#options;
    const started = this.running && (this.#prober?.started ?? true);
    return {
      name: this.spec.name,
      image: this.spec.image ?? "",
      imageID: image === undefined ? "" : `process://${image.name}`,
      ready: this.ready,
      started,
      restartCount: this.#restartCount,
      state: this.#state,
      ...(this.#lastState === undefined ? {} : { lastState: this.#lastState }),
      ...(this.#containerId === undefined ? {} : { containerID: this.#containerId }),
    };
  }

  /** Runs it until it is done for good or stopped. Resolves to its last exit code. */
  async run(): Promise<number> {
    const { restartPolicy } = this.#options;
    let backoffMs = 0;
    for (;;) {
      const startedAt = performance.now();
      const code = await this.#runOnce();
      const again = restartPolicy === "Always" || (restartPolicy === "OnFailure" && code !== 0);
      if (!again || this.#stop.signal.aborted) return code;
      backoffMs =
        performance.now() - startedAt > HEALTHY_MS ? 0 : Math.min(MAX_BACKOFF_MS, backoffMs * 2 || FIRST_BACKOFF_MS);
      this.#lastState = this.#state;
      const message = `back-off ${backoffMs}ms restarting failed container ${this.spec.name}`;
      this.#set({ waiting: { reason: "CrashLoopBackOff", message } });
      await this.#pause(backoffMs);
      if (this.#stop.signal.aborted) {
        this.#set(this.#lastState);
        return code;
      }
      this.#restartCount += 1;
    }
  }

  /** SIGTERM once the process listens for it, SIGKILL after the grace period. Resolves when the process is gone. */
  async stop(graceMs: number): Promise<void> {
    this.#stop.abort();
    const process = this.#process;
    if (process === undefined) return;
    const gone = new Promise<void>((resolve) => process.once("close", () => resolve()));
    const end = performance.now() + graceMs;
    let told = false;
    while (this.#process === process && performance.now() < end) {
      const pid = childOf(process.pid);
      // Linux drops a SIGTERM that a namespace's pid 1 does not handle, for instance just after its start.
      if (!told && pid !== undefined && catchesTerm(pid)) {
        signal(pid, "SIGTERM");
        told = true;
      }
      await Promise.race([gone, systemClock.sleep(TERM_POLL_MS)]);
    }
    if (this.#process !== process) return;
    this.#killed = true;
    process.kill("SIGKILL");
    await gone;
  }

  /** Ends the process as a failed liveness probe does; the restart policy decides what follows. */
  async #restart(): Promise<void> {
    const process = this.#process;
    const pid = childOf(process?.pid);
    if (pid !== undefined) signal(pid, "SIGTERM");
    await this.#pause((this.spec.livenessProbe?.terminationGracePeriodSeconds ?? 2) * 1000);
    if (this.#process === process) process?.kill("SIGKILL");
  }

  async #runOnce(): Promise<number> {
    const { image } = this.#options;
    if (image === undefined) {
      const message = `image ${this.spec.image} is not on this node, and there is no registry`;
      this.#set({ waiting: { reason: "ErrImagePull", message } });
      await this.#stopped();
      return 0;
    }
    const script = await this.#script();
    if (script === undefined) return 0;
    const file = await this.#prepare(script);
    if (this.#stop.signal.aborted) return 0;
    const startedAt = timestamp();
    const child = this.#spawn(file);
    const ended = new Promise<number>((resolve) => {
      child.once("close", (code, name) => resolve(this.#killed ? KILLED : exitCode(code, name)));
      child.once("error", () => resolve(128));
    });
    child.stdio[STARTED_FD]?.once("data", () => this.#started(startedAt));
    const code = await ended;
    this.#prober?.stop();
    const reason = !this.running ? "StartError" : code === 0 ? "Completed" : "Error";
    const said = reason === "StartError" ? this.#logTail() : this.#lastWords();
    const message = said === "" ? {} : { message: said };
    this.#process = undefined;
    this.#set({
      terminated: { exitCode: code, reason, ...message, startedAt, finishedAt: timestamp() },
    });
    return code;
  }

  #started(startedAt: string): void {
    this.#state = { running: { startedAt } };
    this.#prober = new Prober({
      container: this.spec,
      address: this.#options.address,
      pid: () => this.pid,
      changed: this.#options.changed,
      failed: () => void this.#restart(),
    });
    this.#options.changed();
  }

  async #script(): Promise<string | undefined> {
    while (!this.#stop.signal.aborted) {
      try {
        return await this.#options.script();
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        this.#set({ waiting: { reason: "CreateContainerConfigError", message } });
        await this.#pause(CONFIG_RETRY_MS);
      }
    }
    return undefined;
  }

  async #prepare(script: string): Promise<string> {
    const { directory, logFile } = this.#options;
    await mkdir(directory, { recursive: true });
    const file = join(directory, `${this.spec.name}.sh`);
    await writeFile(file, script, { mode: 0o600 });
    if (this.#restartCount > 0) keepPreviousLog(logFile);
    return file;
  }

  /** From here on `stop` finds the process: nothing may be waited for between its check and this. */
  #spawn(script: string): ChildProcess {
    const { logFile, networkNamespace } = this.#options;
    const log = openSync(logFile, "a", 0o644);
    const network = networkNamespace === undefined ? [] : ["nsenter", `--net=${networkNamespace}`];
    const [program = "", ...args] = [
      ...network,
      ...["unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child=KILL", "--propagation", "slave"],
      ...["sh", script],
    ];
    const child = spawn(program, args, { stdio: ["ignore", log, log, "pipe"], env: plainEnv() });
    closeSync(log);
    this.#process = child;
    this.#killed = false;
    return child;
  }

  get #containerId(): string | undefined {
    const id = `process://${this.#options.podUid}/${this.spec.name}/${this.#restartCount}`;
    return this.#state.waiting === undefined ? id : undefined;
  }

  #set(state: ContainerState): void {
    this.#state = state;
    this.#options.changed();
  }

  #logTail(): string {
    return readFileSync(this.#options.logFile, "utf8").trimEnd().split("\n").slice(-3).join("\n");
  }

  #lastWords(): string {
    try {
      return readFileSync(this.#options.terminationLog, "utf8").trim();
    } catch {
      return "";
    }
  }

  #pause(ms: number): Promise<void> {
    return systemClock.sleep(ms, this.#stop.signal).catch(() => {});
  }

  #stopped(): Promise<void> {
    return new Promise((resolve) => this.#stop.signal.addEventListener("abort", () => resolve(), { once: true }));
  }
}

export const previousLog = (logFile: string): string => logFile.replace(/\.log$/, ".previous.log");

function keepPreviousLog(logFile: string): void {
  try {
    renameSync(logFile, previousLog(logFile));
  } catch {
    // it never ran here
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // it has ended meanwhile
  }
}
