import { once } from "node:events";
import { connect, type Socket } from "node:net";

const head = "POST /healthz HTTP/1.1\r\nhost: x\r\n";

/** What a client may stop at, by what it has sent then. */
export const HALF_SENT: Readonly<Record<string, string>> = {
  nothing: "",
  "half a request line": "GET /heal",
  "half a head": head,
  "half a body": `${head}content-length: 1000\r\n\r\nx`,
  "half a chunk": `${head}transfer-encoding: chunked\r\n\r\nff\r\nx`,
};

/** Many connections of one client, which send no more than they are told. */
export class Crowd implements Disposable {
  readonly #sockets = new Set<Socket>();
  /** The address that they come from. */
  localAddress: string | undefined;

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** How many of them the server keeps. */
  get open(): number {
    return this.#sockets.size;
  }

  async connect(options: {
    readonly host?: string;
    readonly port: number;
    readonly count: number;
    readonly sent: string;
    readonly localAddress?: string;
  }): Promise<void> {
    const { host = "127.0.0.1", count, sent, ...address } = options;
    for (let index = 0; index < count; index++) {
      const socket = connect({ host, ...address });
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
      socket.on("error", () => {}).resume();
      await once(socket, "connect");
      this.localAddress = socket.localAddress;
      socket.write(sent);
    }
  }
}
