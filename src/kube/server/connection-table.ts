import type { Socket } from "node:net";

/** What distinguishes the connection of a socket from others. Under TLS a connection has two sockets. */
export const connectionKey = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/**
 * The open connections, up to a number. One more takes the place of another: of the client address that has most, the
 * oldest one without a request. So whoever opens many takes the places of its own.
 */
export class ConnectionTable {
  readonly #max: number;
  /** Keys of connections with a request that has arrived. */
  readonly #busy: () => ReadonlySet<string>;
  /** By client address, the oldest connection first. */
  readonly #open = new Map<string, Set<Socket>>();
  #count = 0;

  constructor(max: number, busy: () => ReadonlySet<string>) {
    this.#max = max;
    this.#busy = busy;
  }

  add(socket: Socket): void {
    const { remoteAddress = "" } = socket;
    const ofAddress = this.#open.get(remoteAddress) ?? new Set<Socket>();
    this.#open.set(remoteAddress, ofAddress.add(socket));
    this.#count += 1;
    socket.once("close", () => this.#forget(socket, remoteAddress));
    if (this.#count <= this.#max) return;
    const [least, address] = this.#leastUsed() ?? [socket, remoteAddress];
    this.#forget(least, address);
    least.destroy();
  }

  #forget(socket: Socket, address: string): void {
    const ofAddress = this.#open.get(address);
    if (ofAddress?.delete(socket) !== true) return;
    this.#count -= 1;
    if (ofAddress.size === 0) this.#open.delete(address);
  }

  #leastUsed(): [Socket, string] | undefined {
    let [most, from] = [new Set<Socket>(), ""];
    for (const [address, sockets] of this.#open) if (sockets.size > most.size) [most, from] = [sockets, address];
    const busy = this.#busy();
    for (const socket of most) if (!busy.has(connectionKey(socket))) return [socket, from];
    return undefined;
  }
}
