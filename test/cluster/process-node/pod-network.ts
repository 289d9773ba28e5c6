/**
 * A pod's network namespace and its way to the rest of the cluster: a veth pair without a bridge, one address, and
 * routes, as the `ptp` CNI plugin makes it.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { runCommand } from "../command.ts";
import { ipBatch } from "../ip-batch.ts";
import type { NodePlan } from "../network-plan.ts";
import { plainEnv } from "../requirements.ts";

export interface PodNetwork {
  /** Id of the sandbox, as container runtimes give one to CNI. */
  readonly sandboxId: string;
  /** Name and path of the network namespace. */
  readonly namespace: string;
  readonly path: string;
  readonly address: string;
}

/** Addresses .2 to .254 of a node's pod network. */
export class PodNetworks {
  readonly #plan: NodePlan;
  readonly #taken = new Set<string>();

  constructor(plan: NodePlan) {
    this.#plan = plan;
  }

  /** Everything is removed again if a step fails. */
  async make(): Promise<PodNetwork> {
    const address = this.#takeAddress();
    const namespace = `cni-${randomUUID()}`;
    const path = `/var/run/netns/${namespace}`;
    const network = { sandboxId: randomBytes(32).toString("hex"), namespace, path, address };
    const link = `pod${network.sandboxId.slice(0, 11)}`;
    const gateway = `${this.#plan.podPrefix}.1`;
    try {
      await ipBatch([
        `netns add ${namespace}`,
        `link add ${link} type veth peer name eth0 netns ${namespace}`,
        `addr add ${gateway}/32 dev ${link}`,
        `link set ${link} up`,
        `route add ${address}/32 dev ${link}`,
      ]);
      await ipBatch(
        [
          "link set lo up",
          `addr add ${address}/32 dev eth0`,
          "link set eth0 up",
          `route add ${gateway}/32 dev eth0`,
          `route add default via ${gateway}`,
        ],
        namespace,
      );
    } catch (error) {
      await this.remove(network);
      throw error;
    }
    return network;
  }

  async remove({ namespace, address }: PodNetwork): Promise<void> {
    await runCommand(["ip", "netns", "delete", namespace], { env: plainEnv() });
    this.#taken.delete(address);
  }

  #takeAddress(): string {
    for (let last = 2; last < 255; last += 1) {
      const address = `${this.#plan.podPrefix}.${last}`;
      if (this.#taken.has(address)) continue;
      this.#taken.add(address);
      return address;
    }
    throw new Error(`All addresses of ${this.#plan.podPrefix}.0/24 are in use`);
  }
}
