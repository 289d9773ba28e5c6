/** A Unix socket that QEMU connects to when it starts, as lines of text. */

import { createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";

export class ControlSocket implements AsyncDisposable {
  readonly path: string;
  readonly #server: Server;
  readonly #connected = Promise.withResolvers<Socket>();
  #socket: Socket | undefined;

  private constructor(path: string, onLine: (line: string) => void) {
    this.path = path;
    this.#server = createServer((socket) => {
      this.#socket = socket;
      // QEMU may be killed while something is sent to it.
      socket.on("error", () => {});
      createInterface({ input: socket }).on("line", onLine);
      this.#connected.resolve(socket);
    });
  }

  static async listen(path: string, onLine: (line: string) => void): Promise<ControlSocket> {
    const socket = new ControlSocket(path, onLine);
    await new Promise<void>((resolve, reject) => {
      socket.#server.once("error", reject).listen(path, resolve);
    });
    return socket;
  }

  /** Waits until QEMU has connected. */
  async send(line: string): Promise<void> {
    (await this.#connected.promise).write(`${line}\n`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket?.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
