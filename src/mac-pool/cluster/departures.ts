import type { KubeObject } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import { macsOfRunningInstance, macsOfRunningPod, seatOfObject } from "../objects/running.ts";
import type { Informers } from "./informers.ts";

/** A node tells for ten minutes that an address was used on both sides of an uplink, and reports every ten minutes. */
const REMEMBERED_MS = 30 * 60_000;

/** When an object was last where it is not any more: gone, without the address, or on another node. Times are those of the wall clock. */
export class Departures {
  readonly #clock: Clock;
  /** Address -> when; the oldest first. */
  readonly #departedMs = new Map<string, number>();

  constructor({ instances, pods }: Pick<Informers, "instances" | "pods">, clock: Clock) {
    this.#clock = clock;
    for (const [informer, macsOf] of [
      [instances, macsOfRunningInstance],
      [pods, macsOfRunningPod],
    ] as const) {
      const nodeOf = (object: KubeObject): string | undefined => seatOfObject(object)?.node;
      informer.on({
        update: (object, old) => {
          const stays = nodeOf(object) === nodeOf(old) ? macsOf(object) : [];
          this.#note(macsOf(old).filter((mac) => !stays.includes(mac)));
        },
        delete: (object) => this.#note(macsOf(object)),
      });
    }
  }

  /** Undefined where nobody left lately. */
  lastOf(mac: string): number | undefined {
    return this.#departedMs.get(mac);
  }

  #note(macs: readonly string[]): void {
    const nowMs = this.#clock.now();
    for (const mac of macs) {
      this.#departedMs.delete(mac);
      this.#departedMs.set(mac, nowMs);
    }
    for (const [mac, departedMs] of this.#departedMs) {
      if (nowMs - departedMs <= REMEMBERED_MS) break;
      this.#departedMs.delete(mac);
    }
  }
}
