/**
 * Network namespaces of nodes and their pods as this machine's processes enter them. A node's process IDs and files are
 * its own; a namespace's inode number is the same everywhere.
 */

import { readdir, readlink } from "node:fs/promises";
import type { CommandResult } from "../cluster/command.ts";
import type { NodeCluster } from "./node-cluster.ts";

export class NodeNamespace {
  readonly #cluster: NodeCluster;
  readonly #node: string;
  /** Path in the node's file system. */
  readonly path: string;

  private constructor(cluster: NodeCluster, node: string, path: string) {
    this.#cluster = cluster;
    this.#node = node;
    this.path = path;
  }

  static ofNode(cluster: NodeCluster, node: string): NodeNamespace {
    return new NodeNamespace(cluster, node, "/proc/1/ns/net");
  }

  /** The one in which the pod's address is on eth0. */
  static async ofPod(cluster: NodeCluster, node: string, address: string): Promise<NodeNamespace> {
    const { stdout } = await cluster.exec(node, ["ls", "/run/netns"]);
    for (const name of stdout.split("\n").filter(Boolean)) {
      const shown = await cluster.exec(node, ["ip", "-netns", name, "-oneline", "address", "show", "dev", "eth0"]);
      if (shown.stdout.includes(` ${address}/`)) return new NodeNamespace(cluster, node, `/run/netns/${name}`);
    }
    throw new Error(`${node} has no network namespace of a pod with ${address}`);
  }

  /** Runs a command of the node in it. */
  run(argv: readonly string[]): Promise<CommandResult> {
    return this.#cluster.exec(this.#node, ["nsenter", `--net=${this.path}`, ...argv]);
  }

  /** A process of this machine in it, for `nsenter`. */
  async process(): Promise<number> {
    const inode = (await this.#cluster.exec(this.#node, ["stat", "-Lc", "%i", this.path])).stdout.trim();
    for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
      const namespace = await readlink(`/proc/${pid}/ns/net`).catch(() => "");
      if (namespace === `net:[${inode}]`) return Number(pid);
    }
    throw new Error(`no process is in ${this.path} of ${this.#node}`);
  }
}
