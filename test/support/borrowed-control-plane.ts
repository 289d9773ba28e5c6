/**
 * A control plane (API server and etcd) for a test file that gives it no arguments of its own. Files use it one after
 * another; each finds the state of a new one, whatever the one before did to it.
 */
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { createInterface, type Interface } from "node:readline";
import { Authority } from "../cluster/control-plane/authority.ts";
import { startControlPlane } from "../cluster/control-plane/control-plane.ts";
import { OwnControlPlane, type OwnControlPlanePlace } from "../cluster/control-plane/own-control-plane.ts";
import { makeRunDirectory } from "../cluster/run-directory.ts";
import type { Deed, Offer, Outcome } from "./control-plane-broker.ts";
import { controlPlaneTook } from "./patience.ts";

/** Path of the broker's socket, for workers. Without it every file starts its own control plane. */
export const BROKER_VARIABLE = "CONTROL_PLANE_BROKER";

/** Disposing of it gives it back and removes all objects that the file made. */
export async function borrowControlPlane(path = process.env[BROKER_VARIABLE]): Promise<OwnControlPlane> {
  if (path === undefined) return await startControlPlane();
  const socket = connect(path);
  const lines = createInterface({ input: socket });
  const [line] = await once(lines, "line");
  const offer = JSON.parse(line as string) as Offer;
  if ("error" in offer) throw new Error(offer.error);
  controlPlaneTook(offer.startMs);
  const authority = await Authority.restore(offer.authority);
  return await BorrowedControlPlane.take({ ...offer, authority, directory: await makeRunDirectory() }, socket, lines);
}

class BorrowedControlPlane extends OwnControlPlane {
  readonly killApiServer = () => this.#do("killApiServer");
  readonly restartApiServer = () => this.#do("restartApiServer");
  readonly pauseApiServer = () => this.#do("pauseApiServer");
  readonly resumeApiServer = () => this.#do("resumeApiServer");
  readonly saveEtcd = () => this.#do("saveEtcd");
  readonly restoreEtcd = () => this.#do("restoreEtcd");
  readonly #socket: Socket;
  readonly #lines: Interface;

  private constructor(place: OwnControlPlanePlace, socket: Socket, lines: Interface) {
    super(place);
    this.#socket = socket;
    this.#lines = lines;
  }

  static async take(place: OwnControlPlanePlace, socket: Socket, lines: Interface): Promise<OwnControlPlane> {
    const borrowed = new BorrowedControlPlane(place, socket, lines);
    await borrowed.becomeAdmin();
    return borrowed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy();
    await rm(this.directory, { recursive: true, force: true });
  }

  /** The broker does it. */
  async #do(deed: Deed): Promise<void> {
    const answered = once(this.#lines, "line");
    this.#socket.write(`${deed}\n`);
    const [line] = await answered;
    const { error } = JSON.parse(line as string) as Outcome;
    if (error !== undefined) throw new Error(error);
  }
}
