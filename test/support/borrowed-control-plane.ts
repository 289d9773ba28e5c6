/**
 * A control plane (API server and etcd) for a test file that neither kills it nor starts it with arguments. Files use it
 * one after another; each finds the state of a new one.
 */
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { ControlPlaneAccess, type ControlPlanePlace } from "../cluster/control-plane/access.ts";
import { Authority } from "../cluster/control-plane/authority.ts";
import { startControlPlane } from "../cluster/control-plane/control-plane.ts";
import { makeRunDirectory } from "../cluster/run-directory.ts";
import type { Offer } from "./control-plane-broker.ts";
import { controlPlaneTook } from "./patience.ts";

/** Path of the broker's socket, for workers. Without it every file starts its own control plane. */
export const BROKER_VARIABLE = "CONTROL_PLANE_BROKER";

/** Disposing of it gives it back and removes all objects that the file made. */
export async function borrowControlPlane(path = process.env[BROKER_VARIABLE]): Promise<ControlPlaneAccess> {
  if (path === undefined) return await startControlPlane();
  const socket = connect(path);
  const [line] = await once(createInterface({ input: socket }), "line");
  const offer = JSON.parse(line as string) as Offer;
  if ("error" in offer) throw new Error(offer.error);
  controlPlaneTook(offer.startMs);
  const authority = await Authority.restore(offer.authority);
  return await BorrowedControlPlane.take({ ...offer, authority, directory: await makeRunDirectory() }, socket);
}

class BorrowedControlPlane extends ControlPlaneAccess {
  readonly #socket: Socket;

  private constructor(place: ControlPlanePlace, socket: Socket) {
    super(place);
    this.#socket = socket;
  }

  static async take(place: ControlPlanePlace, socket: Socket): Promise<ControlPlaneAccess> {
    const borrowed = new BorrowedControlPlane(place, socket);
    await borrowed.becomeAdmin();
    return borrowed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy();
    await rm(this.directory, { recursive: true, force: true });
  }
}
