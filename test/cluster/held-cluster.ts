/**
 * A cluster in namespaces of its own as this process holds it: its supervisor, the loopback port of its API server, kubectl
 * and clients. `Cluster` and `NodeCluster` extend it, and say what the supervisor starts.
 *
 * Nothing outlives this process, also when it is killed: namespaces, mounts and processes go with it, and what it had
 * in the temporary directory is removed by the next start.
 */
import { rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { KubeClient } from "../../src/kube/client/client.ts";
import { credentialsFromKubeconfig } from "../../src/kube/credentials/credentials.ts";
import { Caller, handOver, type Methods } from "./channel.ts";
import { type CommandResult, outputOf, runCommand } from "./command.ts";
import { Component, throwUncaught } from "./control-plane/component.ts";
import { childOf } from "./process-node/processes.ts";
import { plainEnv, unshareCluster } from "./requirements.ts";

/** What every supervisor does when it is told. */
export interface HeldMethods {
  exec(call: { node: string; argv: readonly string[]; stdin?: string }): Promise<CommandResult>;
  userKubeconfig(call: { name: string; groups: readonly string[] }): Promise<string>;
  killApiServer(call: null): Promise<void>;
  restartApiServer(call: null): Promise<void>;
  powerOff(call: { node: string }): Promise<void>;
  powerOn(call: { node: string }): Promise<void>;
}

export interface Holding {
  /** The supervisor's file. */
  readonly program: string;
  readonly runDirectory: string;
  readonly kubectl: string;
  readonly listener: Server;
  /** Gets the error, with the tail of its log, when a part of the cluster ends by itself. Default: an uncaught error. */
  readonly onCrash?: ((error: Error) => void) | undefined;
}

export abstract class HeldCluster<M extends HeldMethods & Methods<M>> implements AsyncDisposable {
  /** The API server's address outside the cluster. */
  readonly url: string;
  /** Path of an administrator's kubeconfig. */
  readonly kubeconfig: string;
  readonly kubectlPath: string;
  /** Log files of all parts and containers. */
  readonly logDirectory: string;
  protected readonly caller: Caller<M>;
  readonly #holding: Holding;
  readonly #supervisor: Component;
  readonly #failed = Promise.withResolvers<never>();
  #isStarted = false;

  protected constructor(holding: Holding) {
    const { runDirectory, listener, program } = holding;
    this.#holding = holding;
    this.url = urlOf(listener);
    this.kubeconfig = join(runDirectory, "admin.kubeconfig");
    this.kubectlPath = holding.kubectl;
    this.logDirectory = join(runDirectory, "logs");
    this.#failed.promise.catch(() => {});
    this.#supervisor = new Component({
      name: "cluster supervisor",
      argv: [...unshareCluster(), "sh", "-c", '"$@" || exit $?; exit 1', "sh", process.execPath, program],
      logFile: join(runDirectory, "supervisor.log"),
      ipc: true,
      onCrash: (error) => this.#crashed(error),
    });
    this.caller = new Caller<M>(this.#supervisor.process, (text) => this.#crashed(new Error(text)));
    handOver(this.#supervisor.process, listener);
  }

  /** Runs `start`, which resolves to the administrator's kubeconfig, and then `ready`; fails when a part of the cluster does. */
  protected async starts(start: Promise<string>, ready: () => Promise<void> = async () => {}): Promise<void> {
    await writeFile(this.kubeconfig, await Promise.race([start, this.#failed.promise]), { mode: 0o600 });
    await Promise.race([ready(), this.#failed.promise]);
    this.#isStarted = true;
  }

  /** kubectl of the control plane's version, as the administrator. */
  kubectl(args: readonly string[], options: { readonly stdin?: string } = {}): Promise<CommandResult> {
    return runCommand([this.kubectlPath, ...args], {
      ...options,
      env: plainEnv({ KUBECONFIG: this.kubeconfig, HOME: this.#holding.runDirectory }),
    });
  }

  /** What kubectl prints; throws its own words when it fails. */
  async mustKubectl(args: readonly string[], stdin = ""): Promise<string> {
    return outputOf(`kubectl ${args.join(" ")}`, await this.kubectl(args, { stdin }));
  }

  /** A client of the administrator; the caller disposes of it. */
  async client(): Promise<KubeClient> {
    return new KubeClient({ credentials: await credentialsFromKubeconfig(this.kubeconfig), userAgent: "test" });
  }

  /** A kubeconfig for any user, usable from outside. */
  userKubeconfig(name: string, groups: readonly string[] = []): Promise<string> {
    return this.#calls.call("userKubeconfig", { name, groups });
  }

  /** Runs a command on a node, as root in its namespaces. Its PATH has ip and the like. */
  exec(node: string, argv: readonly string[], options: { readonly stdin?: string } = {}): Promise<CommandResult> {
    return this.#calls.call("exec", { node, argv, ...options });
  }

  /** What a command on a node prints; throws when it fails. */
  async mustExec(node: string, argv: readonly string[], stdin = ""): Promise<string> {
    return outputOf(`${argv.join(" ")} on ${node}`, await this.exec(node, argv, { stdin }));
  }

  async killApiServer(): Promise<void> {
    await this.#calls.call("killApiServer", null);
  }

  async restartApiServer(): Promise<void> {
    await this.#calls.call("restartApiServer", null);
  }

  /** Ends everything on a node at once, as a power cut does. */
  async powerOff(node: string): Promise<void> {
    await this.#calls.call("powerOff", { node });
  }

  /** Resolves when the node runs, which is before it is Ready. */
  async powerOn(node: string): Promise<void> {
    await this.#calls.call("powerOn", { node });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#holding.listener.close();
    // Killing pid 1 of the namespaces first: when it is gone, everything in them is.
    const init = childOf(this.#supervisor.process.pid);
    await this.#supervisor.endWith(() => init !== undefined && process.kill(init, "SIGKILL"));
    await rm(this.#holding.runDirectory, { recursive: true, force: true });
  }

  get #calls(): Caller<HeldMethods> {
    return this.caller as unknown as Caller<HeldMethods>;
  }

  #crashed(error: Error): void {
    this.#failed.reject(error);
    if (this.#isStarted) (this.#holding.onCrash ?? throwUncaught)(error);
  }
}

/** The loopback port at which a cluster's API server is reached from outside its namespaces. */
export function listenOnLoopback(): Promise<Server> {
  const { promise, resolve, reject } = Promise.withResolvers<Server>();
  const server = createServer();
  server.once("error", reject);
  server.listen(0, "127.0.0.1", () => resolve(server));
  return promise;
}

function urlOf(listener: Server): string {
  const address = listener.address();
  if (address === null || typeof address === "string") throw new Error("The listener has no port");
  return `https://127.0.0.1:${address.port}`;
}
