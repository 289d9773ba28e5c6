/**
 * Lends control planes to test files. One file has a control plane at a time; when it ends, the state is put back. This
 * runs in the process that starts the workers. A worker asks on a socket and gives the control plane back by closing it.
 */
import { rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { KeyPair } from "../cluster/control-plane/authority.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane/control-plane.ts";
import { EtcdState } from "../cluster/control-plane/etcd-state.ts";
import { makeRunDirectory } from "../cluster/run-directory.ts";

/** What a worker is told, in one line of JSON. */
export type Offer =
  | {
      readonly url: string;
      readonly etcdUrl: string;
      readonly kubectlPath: string;
      readonly authority: KeyPair;
      /** What its start took. */
      readonly startMs: number;
    }
  | { readonly error: string };

interface Standing {
  readonly controlPlane: ControlPlane;
  readonly state: EtcdState;
  readonly startMs: number;
}

export class ControlPlaneBroker implements AsyncDisposable {
  readonly #directory: string;
  readonly #server: Server;
  readonly #started = new Set<ControlPlane>();
  /** Control planes that are free, or are being put back. */
  readonly #idle: Promise<Standing>[] = [];
  #ended = false;

  private constructor(directory: string) {
    this.#directory = directory;
    this.#server = createServer((socket) => void this.#lend(socket));
  }

  static async listen(): Promise<ControlPlaneBroker> {
    const broker = new ControlPlaneBroker(await makeRunDirectory());
    await new Promise<void>((resolve, reject) => {
      broker.#server.once("error", reject);
      broker.#server.listen(broker.path, resolve);
    });
    return broker;
  }

  /** Of the socket. */
  get path(): string {
    return join(this.#directory, "broker");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    this.#server.close();
    await Promise.allSettled(this.#idle);
    await Promise.all([...this.#started].map((controlPlane) => controlPlane[Symbol.asyncDispose]()));
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #lend(socket: Socket): Promise<void> {
    socket.on("error", () => {}); // "close" follows
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    try {
      const standing = await (this.#idle.shift() ?? this.#start());
      socket.write(`${JSON.stringify(await offerOf(standing))}\n`);
      await closed;
      if (!this.#ended) this.#idle.push(this.#cleaned(standing));
    } catch (error) {
      const offer: Offer = { error: error instanceof Error ? error.message : String(error) };
      socket.end(`${JSON.stringify(offer)}\n`);
    }
  }

  async #start(): Promise<Standing> {
    const startedMs = performance.now();
    const controlPlane = await startControlPlane();
    const startMs = performance.now() - startedMs;
    this.#started.add(controlPlane);
    return { controlPlane, startMs, state: await EtcdState.capture(controlPlane) };
  }

  async #cleaned(standing: Standing): Promise<Standing> {
    await standing.state.restore();
    return standing;
  }
}

async function offerOf({ controlPlane, startMs }: Standing): Promise<Offer> {
  const { url, etcdUrl, kubectlPath, authority } = controlPlane;
  return {
    url,
    etcdUrl,
    kubectlPath,
    startMs,
    authority: { cert: authority.certificate, key: await authority.privateKey() },
  };
}
