/** A process of the product as it runs in its pod, for tests against real parts: its own `main.ts`, under Node. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { IMAGE_ENV } from "../../src/api/image.ts";
import { Component, throwUncaught } from "../cluster/control-plane/component.ts";

const root = join(import.meta.dirname, "..", "..");

export interface ProductProcessOptions {
  /** Folder under `src`. */
  readonly product: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What to put before the command, such as `nsenter --net=...`. */
  readonly prefix?: readonly string[];
  readonly nodeOptions?: readonly string[];
  /** File in place of the source, such as the image's bundle. */
  readonly program?: string;
  /** Starts it anew when it ends by itself, as the kubelet does. */
  readonly restarts?: boolean;
}

export class ProductProcess implements AsyncDisposable {
  readonly #options: ProductProcessOptions;
  readonly #directory: string;
  #component: Component;

  private constructor(options: ProductProcessOptions, directory: string) {
    this.#options = options;
    this.#directory = directory;
    this.#component = this.#launch();
  }

  static async start(options: ProductProcessOptions): Promise<ProductProcess> {
    return new ProductProcess(options, await mkdtemp(join(tmpdir(), `${options.product}-`)));
  }

  #launch(): Component {
    const options = this.#options;
    const main = options.program ?? join(root, "src", options.product, "main.ts");
    return new Component({
      name: options.product,
      argv: [
        ...(options.prefix ?? []),
        process.execPath,
        ...(options.nodeOptions ?? []),
        main,
        ...(options.args ?? []),
      ],
      logFile: join(this.#directory, "log"),
      env: { ...IMAGE_ENV, ...options.env },
      onCrash: (error) => {
        if (options.restarts !== true) throwUncaught(error);
        else this.#component = this.#launch();
      },
    });
  }

  get pid(): number {
    const { pid } = this.#component.process;
    if (pid === undefined) throw new Error(`${this.#component.name} did not start`);
    return pid;
  }

  /** What it has logged so far. */
  get log(): string {
    return readFileSync(this.#component.logFile, "utf8");
  }

  /** Tells it to stop as kubelet does, and waits until it has. Resolves with its exit code. */
  async stop(): Promise<number | null> {
    await this.#component.endWith(() => this.#component.process.kill("SIGTERM"));
    return this.#component.process.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#component[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true, force: true });
  }
}
