import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ADMIN_GROUP } from "../cluster/control-plane/access.ts";
import type { PoolBed } from "../mac-pool/pool-bed.ts";
import { askChild } from "./ask-child.ts";
import type { Created, CreatorOrder } from "./creator.ts";

/** VMs a second that are created, whether or not the one before was answered. */
const RATE = 20;
/** So that the young generation is collected hardly ever. */
const NODE_FLAGS = ["--max-semi-space-size=32"];

/** Somebody who creates VMs at a steady rate in the namespace `honest`, in a process of its own, and takes the time of each. */
export class SteadyCreations implements Disposable {
  failures = 0;
  readonly #creator: ChildProcess;

  private constructor(creator: ChildProcess) {
    this.#creator = creator;
  }

  static async start({ controlPlane: { authority, url } }: PoolBed): Promise<SteadyCreations> {
    const pair = await authority.issue({ commonName: "creator", groups: [ADMIN_GROUP], usage: ["client"] });
    const creator = fork(join(import.meta.dirname, "creator.ts"), { execArgv: NODE_FLAGS });
    const creations = new SteadyCreations(creator);
    await creations.#obey({ what: "begin", access: { url, ca: authority.certificate, ...pair } });
    return creations;
  }

  /** So many of them, one after the other. */
  async warmUp(creations: number): Promise<void> {
    await this.#obey({ what: "warm up", creations });
  }

  /** Milliseconds of creations at a steady rate, for a time at least, and until something else is over. */
  async during(ms: number, other?: Promise<void>): Promise<readonly number[]> {
    this.#creator.send({ what: "go on", perSecond: RATE } satisfies CreatorOrder);
    await Promise.all([sleep(ms), other]);
    return (await this.#obey({ what: "stop" })).samples;
  }

  [Symbol.dispose](): void {
    this.#creator.disconnect();
  }

  async #obey(order: CreatorOrder): Promise<Created> {
    const created = await askChild<Created>(this.#creator, order);
    this.failures += created.failures;
    return created;
  }
}
