import { once } from "node:events";
import { connect as connectPlain, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { connect, TLSSocket } from "node:tls";

/** Connections without a request that it keeps: one more ends the first. */
const MOST_IDLE = 300;

/**
 * Somebody who reaches the ports of a replica, from an address of its own on the loopback. Everything it does is bounded in
 * number; what it holds open ends with it.
 */
export class Attacker implements Disposable {
  readonly #sockets = new Set<Socket>();
  /** How often each answer came: a status, or `closed`. */
  readonly answers = new Map<string, number>();
  readonly #address: string;
  #isOver = false;

  constructor(address = "127.66.0.1") {
    this.#address = address;
  }

  /** By resets: a port that waits for its end costs the machine time with each connection after that. */
  [Symbol.dispose](): void {
    this.#isOver = true;
    for (const socket of this.#sockets) {
      if (socket instanceof TLSSocket) socket.destroy();
      else socket.resetAndDestroy();
    }
    this.#sockets.clear();
  }

  /** Opens connections at a steady rate, and sends nothing that ends the handshake. */
  async idle(port: number, count: number, perSecond: number): Promise<void> {
    const startMs = performance.now();
    await this.#each(count, 32, async (index) => {
      await setTimeout(Math.max(0, startMs + (index * 1000) / perSecond - performance.now()));
      const socket = connectPlain({ host: "127.0.0.1", port, localAddress: this.#address });
      const [first] = this.#sockets.add(socket);
      if (first !== undefined && this.#sockets.size > MOST_IDLE) {
        this.#sockets.delete(first);
        first.resetAndDestroy();
      }
      socket.on("error", () => {}).resume();
      await Promise.race([once(socket, "connect"), once(socket, "close")]);
      socket.write("x");
    });
  }

  /** Begins requests with a body of `length` bytes, sends `sent` of them, and keeps the connections. */
  async unfinished(port: number, count: number, length: number, sent: number): Promise<void> {
    const piece = Buffer.alloc(sent, 0x20);
    const head = `POST /mutate-pods HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
    await this.#each(count, 8, async () => {
      const socket = await this.#connect(port);
      if (socket === undefined) return;
      this.#follow(socket);
      socket.write(head);
      const written = new Promise((resolve) => socket.write(piece, resolve));
      await Promise.race([written, once(socket, "close")]);
    });
  }

  /** Sends requests and reads their answers, so many at a time. */
  async requests(port: number, count: number, limit: number, request: (index: number) => string): Promise<void> {
    await this.#each(count, limit, async (index) => {
      const socket = await this.#connect(port);
      if (socket === undefined) return;
      const answered = this.#follow(socket);
      socket.write(request(index));
      await answered;
      socket.destroy();
    });
  }

  async #connect(port: number): Promise<TLSSocket | undefined> {
    const options = { host: "127.0.0.1", port, localAddress: this.#address, rejectUnauthorized: false };
    const socket = connect(options);
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    socket.on("error", () => {});
    const outcome = await Promise.race([
      once(socket, "secureConnect").then(
        () => "open",
        () => "closed",
      ),
      new Promise((resolve) => socket.once("close", () => resolve("closed"))),
    ]);
    if (outcome === "open") return socket;
    this.#count("closed");
    return undefined;
  }

  /** Resolves with the first answer, or the end of the connection; either is counted once. */
  #follow(socket: TLSSocket): Promise<void> {
    return new Promise((resolve) => {
      const count = (answer: string): void => {
        socket.off("data", onData).off("close", onClose).resume();
        this.#count(answer);
        resolve();
      };
      const onData = (data: Buffer): void => count(/^HTTP\/1\.1 (\d{3})/.exec(String(data))?.[1] ?? "?");
      const onClose = (): void => count("closed");
      socket.on("data", onData).on("close", onClose);
    });
  }

  #count(answer: string): void {
    this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1);
  }

  async #each(count: number, limit: number, act: (index: number) => Promise<void>): Promise<void> {
    let next = 0;
    const work = async (): Promise<void> => {
      for (let index = next++; index < count && !this.#isOver; index = next++) await act(index);
    };
    await Promise.all(Array.from({ length: limit }, work));
  }
}
