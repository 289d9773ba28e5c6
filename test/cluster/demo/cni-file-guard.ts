import { onNode, type Stage } from "./stage.ts";
import { CNI_DIRECTORY, checksums } from "./steps/cni-plugins.ts";

export interface GuardReport {
  /** How often all files were looked at, on all nodes together. */
  readonly looks: number;
  /** `node/file` of every file that was not there, or not executable, at least once. */
  readonly missing: readonly string[];
}

/**
 * Looks at the CNI executables of some nodes again and again until stopped. The loop runs on the node itself, in a
 * shell: fast enough to see a file that is gone for some milliseconds only.
 */
export class CniFileGuard implements AsyncDisposable {
  readonly #stage: Stage;
  readonly #nodes: readonly string[];
  readonly #loops: Promise<string>[];
  readonly #stopFile: string;
  #report: Promise<GuardReport> | undefined;

  static async start(stage: Stage, nodes: readonly string[]): Promise<CniFileGuard> {
    const files = new Set<string>();
    for (const node of nodes) for (const name of (await checksums(stage, node)).keys()) files.add(name);
    return new CniFileGuard(stage, nodes, [...files]);
  }

  constructor(stage: Stage, nodes: readonly string[], files: readonly string[]) {
    this.#stage = stage;
    this.#nodes = nodes;
    this.#stopFile = `/tmp/cni-file-guard-${process.pid}-${Date.now()}`;
    const tests = files.map((name) => `[ -x ${CNI_DIRECTORY}/${name} ] || echo "${name}";`).join(" ");
    const script = `n=0; while [ ! -e ${this.#stopFile} ]; do ${tests} n=$((n+1)); sleep 0.005; done; echo "looks $n"`;
    this.#loops = nodes.map((node) => onNode(stage, node, ["sh", "-c", script]));
    for (const loop of this.#loops) loop.catch(() => {});
  }

  stop(): Promise<GuardReport> {
    this.#report ??= this.#stop();
    return this.#report;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop().catch(() => {});
  }

  async #stop(): Promise<GuardReport> {
    await Promise.all(this.#nodes.map((node) => onNode(this.#stage, node, ["touch", this.#stopFile])));
    const outputs = await Promise.all(this.#loops);
    await Promise.all(this.#nodes.map((node) => onNode(this.#stage, node, ["rm", "-f", this.#stopFile])));
    const missing = new Set<string>();
    let looks = 0;
    for (const [index, output] of outputs.entries()) {
      for (const line of output.split("\n").filter((each) => each !== "")) {
        const count = /^looks (\d+)$/.exec(line)?.[1];
        if (count === undefined) missing.add(`${this.#nodes[index]}/${line}`);
        else looks += Number(count);
      }
    }
    return { looks, missing: [...missing] };
  }
}
