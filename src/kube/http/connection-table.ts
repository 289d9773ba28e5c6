import type { Socket } from "node:net";

/**
 * The open connections, up to a number. One more takes the place of another: of the client address that has most, the one
 * without a request whose last request is longest ago. So whoever opens many takes the places of its own.
 */
export class ConnectionTable {
  readonly #max: number;
  /** By client address, then by port: the one that was idle longest first. */
  readonly #open = new Map<string, Map<number, Socket>>();
  readonly #busy = new Set<string>();
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  add(socket: Socket): void {
    const { remoteAddress = "", remotePort = 0 } = socket;
    const ofAddress = this.#open.get(remoteAddress) ?? new Map<number, Socket>();
    this.#open.set(remoteAddress, ofAddress.set(remotePort, socket));
    this.#count += 1;
    socket.once("close", () => this.#forget(socket, remoteAddress, remotePort));
    if (this.#count > this.#max) this.#close(this.#leastUsed() ?? socket);
  }

  /** A request came by this connection. Under TLS the socket is another one than the one that was added. */
  begin({ remoteAddress, remotePort }: Socket): void {
    this.#busy.add(`${remoteAddress} ${remotePort}`);
  }

  /** It was answered. */
  end({ remoteAddress = "", remotePort = 0 }: Socket): void {
    this.#busy.delete(`${remoteAddress} ${remotePort}`);
    const ofAddress = this.#open.get(remoteAddress);
    const socket = ofAddress?.get(remotePort);
    if (ofAddress === undefined || socket === undefined) return;
    ofAddress.delete(remotePort);
    ofAddress.set(remotePort, socket);
  }

  #close(socket: Socket): void {
    const { remoteAddress = "", remotePort = 0 } = socket;
    this.#forget(socket, remoteAddress, remotePort);
    socket.destroy();
  }

  #forget(socket: Socket, address: string, port: number): void {
    const ofAddress = this.#open.get(address);
    if (ofAddress?.get(port) !== socket) return;
    this.#count -= 1;
    ofAddress.delete(port);
    if (ofAddress.size === 0) this.#open.delete(address);
  }

  #leastUsed(): Socket | undefined {
    let [most, from] = [new Map<number, Socket>(), ""];
    for (const [address, sockets] of this.#open) if (sockets.size > most.size) [most, from] = [sockets, address];
    for (const [port, socket] of most) if (!this.#busy.has(`${from} ${port}`)) return socket;
    return undefined;
  }
}
