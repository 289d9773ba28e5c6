/**
 * Reads the CNI executables of a node again and again, on the node itself: to see files that are missing, half written or
 * not executable for a moment only.
 */
import { randomUUID } from "node:crypto";
import type { Cluster } from "./cluster.ts";

/** Whatever runs commands on nodes. */
type Nodes = Pick<Cluster, "exec">;

export interface GuardReport {
  /** How often all files were read. */
  readonly looks: number;
  /** The SHA-256 sums that each file had, in the order of their first sight. */
  readonly sums: Readonly<Record<string, readonly string[]>>;
  /** What was said of files that could not be read or executed. */
  readonly faults: readonly string[];
}

export class PluginGuard {
  readonly #cluster: Nodes;
  readonly #node: string;
  readonly #stopFile = `/run/plugin-guard-${randomUUID()}`;
  readonly #loop: ReturnType<Nodes["exec"]>;

  constructor(cluster: Nodes, node: string, directory: string, files: readonly string[]) {
    this.#cluster = cluster;
    this.#node = node;
    const names = files.join(" ");
    const script = [
      `cd ${directory}; n=0; last=`,
      `while [ ! -e ${this.#stopFile} ]; do`,
      `  now=$(sha256sum ${names} 2>&1; for file in ${names}; do [ -x $file ] || echo "$file is not executable"; done)`,
      '  [ "$now" = "$last" ] || echo "$now"',
      "  last=$now; n=$((n+1)); sleep 0.01",
      "done",
      'echo "looks $n"',
    ];
    this.#loop = cluster.exec(node, ["sh", "-c", script.join("\n")]);
    this.#loop.catch(() => {});
  }

  async stop(): Promise<GuardReport> {
    await this.#cluster.exec(this.#node, ["touch", this.#stopFile]);
    const { stdout } = await this.#loop;
    await this.#cluster.exec(this.#node, ["rm", this.#stopFile]);
    const sums: Record<string, string[]> = {};
    const faults: string[] = [];
    let looks = 0;
    for (const line of stdout.split("\n").filter((each) => each !== "")) {
      const [, sum, name] = /^([0-9a-f]{64}) [ *](\S+)$/.exec(line) ?? [];
      const count = /^looks (\d+)$/.exec(line)?.[1];
      if (count !== undefined) looks = Number(count);
      else if (sum === undefined || name === undefined) faults.push(line);
      else {
        sums[name] ??= [];
        if (!sums[name].includes(sum)) sums[name].push(sum);
      }
    }
    return { looks, sums, faults };
  }
}
