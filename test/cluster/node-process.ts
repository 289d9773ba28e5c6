/** One node of the cluster as the supervisor sees it: its namespaces, and the process node in them. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Caller } from "./channel.ts";
import { Component } from "./control-plane/component.ts";
import { nodeNamespace } from "./network-plan.ts";
import { nodeScript } from "./node-root.ts";
import type { NodeConfig, NodeMethods } from "./process-node/node-config.ts";

export interface NodeProcessOptions {
  readonly config: NodeConfig;
  readonly stateDirectory: string;
  readonly logDirectory: string;
  readonly onCrash: (error: Error) => void;
}

export class NodeProcess {
  readonly #options: NodeProcessOptions;
  #component: Component | undefined;
  #caller: Caller<NodeMethods> | undefined;

  constructor(options: NodeProcessOptions) {
    this.#options = options;
  }

  /** Switches the node on. Resolves when its process runs, which is before it is Ready. */
  async start(): Promise<void> {
    const { config, stateDirectory, logDirectory, onCrash } = this.#options;
    const { name } = config.plan;
    if (this.#component?.running) return;
    const mountPoint = join(stateDirectory, `node-${name}`);
    await mkdir(mountPoint, { recursive: true });
    const trees = outermost([sourceTree, ...Object.values(config.images)]);
    const script = nodeScript({ name, mountPoint, trees, logDirectory });
    this.#component = new Component({
      name: `node ${name}`,
      argv: [
        ...["nsenter", `--net=/run/netns/${nodeNamespace(config.plan)}`],
        ...["unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child=KILL"],
        ...["--propagation", "private", "sh", "-c", script],
      ],
      logFile: join(logDirectory, `node-${name}.log`),
      ipc: true,
      onCrash,
    });
    this.#caller = new Caller(this.#component.process);
    await this.#caller.call("start", config);
  }

  /** Ends everything on the node at once, as a power cut does. Its network, bridges included, stays plugged in. */
  async powerOff(): Promise<void> {
    await this.#component?.[Symbol.asyncDispose]();
  }

  /** What the process node said last. */
  logTail(): string {
    return `node ${this.#options.config.plan.name}:\n${this.#component?.logTail() ?? "(never started)"}`;
  }

  call<K extends "exec" | "execInPod">(
    method: K,
    parameter: Parameters<NodeMethods[K]>[0],
  ): ReturnType<NodeMethods[K]> {
    const { config } = this.#options;
    if (this.#caller === undefined) throw new Error(`Node ${config.plan.name} is switched off`);
    return this.#caller.call(method, parameter) as ReturnType<NodeMethods[K]>;
  }
}

/** Without those that are inside another one. */
const outermost = (trees: readonly string[]): string[] =>
  [...new Set(trees)].filter((tree) => !trees.some((other) => tree.startsWith(`${other}/`)));

/** The repository, which the process node itself runs from. */
const sourceTree = join(import.meta.dirname, "..", "..");
