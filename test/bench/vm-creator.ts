import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ADMIN_GROUP, type ControlPlaneAccess } from "../cluster/control-plane/access.ts";
import { askChild } from "./ask-child.ts";
import type { Created, CreatorAccess, CreatorOrder } from "./creator.ts";

/** So that the young generation is collected hardly ever. */
const NODE_FLAGS = ["--max-semi-space-size=32"];

/** Somebody who creates VMs in the namespace `honest`, in a process of its own, and takes the time of each. */
export class VmCreator implements Disposable {
  failures = 0;
  readonly #creator: ChildProcess;
  readonly #perSecond: number;
  readonly #access = new Map<ControlPlaneAccess, CreatorAccess>();

  private constructor(creator: ChildProcess, perSecond: number) {
    this.#creator = creator;
    this.#perSecond = perSecond;
  }

  /** `perSecond`: its steady rate, whether or not the creation before was answered. */
  static start(perSecond: number): VmCreator {
    return new VmCreator(fork(join(import.meta.dirname, "creator.ts"), { execArgv: NODE_FLAGS }), perSecond);
  }

  /** From now on it creates VMs there. */
  async turnTo(controlPlane: ControlPlaneAccess): Promise<void> {
    const access = this.#access.get(controlPlane) ?? (await accessTo(controlPlane));
    this.#access.set(controlPlane, access);
    await this.#obey({ what: "begin", access });
  }

  /** So many of them, so many under way at any time. */
  create(creations: number, inFlight = 1): Promise<Created> {
    return this.#obey({ what: "create", creations, inFlight });
  }

  /** Milliseconds of creations at a steady rate, for a time. */
  async during(ms: number): Promise<readonly number[]> {
    this.#creator.send({ what: "go on", perSecond: this.#perSecond } satisfies CreatorOrder);
    await sleep(ms);
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

async function accessTo({ authority, url }: ControlPlaneAccess): Promise<CreatorAccess> {
  const pair = await authority.issue({ commonName: "creator", groups: [ADMIN_GROUP], usage: ["client"] });
  return { url, ca: authority.certificate, ...pair };
}
