/**
 * Lends control planes to test files. One file has a control plane at a time; when it ends, the state is put back. This
 * runs in the process that starts the workers. A worker asks on a socket, says there in a line what is to be done to the
 * control plane, and gives it back by closing the socket.
 */
import { rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
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
      readonly tokenKey: string;
      /** What its start took. */
      readonly startMs: number;
    }
  | { readonly error: string };

/** What a borrower can have done to its control plane. */
export const DEEDS = [
  "killApiServer",
  "restartApiServer",
  "pauseApiServer",
  "resumeApiServer",
  "saveEtcd",
  "restoreEtcd",
] as const satisfies readonly (keyof ControlPlane)[];
export type Deed = (typeof DEEDS)[number];

/** The answer to a deed. */
export interface Outcome {
  readonly error?: string;
}

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
      let done = Promise.resolve();
      createInterface({ input: socket }).on("line", (line) => {
        done = done.then(async () => {
          socket.write(`${JSON.stringify(await outcomeOf(standing.controlPlane, line as Deed))}\n`);
        });
      });
      socket.write(`${JSON.stringify(await offerOf(standing))}\n`);
      await closed;
      await done;
      if (!this.#ended) this.#idle.push(this.#cleaned(standing));
    } catch (error) {
      const offer: Offer = { error: textOf(error) };
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
    await standing.controlPlane.recover();
    await standing.state.restore();
    return standing;
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function outcomeOf(controlPlane: ControlPlane, deed: Deed): Promise<Outcome> {
  try {
    await controlPlane[deed]();
    return {};
  } catch (error) {
    return { error: textOf(error) };
  }
}

async function offerOf({ controlPlane, startMs }: Standing): Promise<Offer> {
  const { url, etcdUrl, kubectlPath, authority, tokenKey } = controlPlane;
  return {
    url,
    etcdUrl,
    kubectlPath,
    tokenKey,
    startMs,
    authority: { cert: authority.certificate, key: await authority.privateKey() },
  };
}
