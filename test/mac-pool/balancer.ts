import { createConnection, createServer, type Server, type Socket } from "node:net";

/** What a Service does with connections: each goes to the next replica that takes it. */
export class Balancer implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #targets: number[] = [];
  #next = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async listen(port = 0): Promise<Balancer> {
    const server = createServer({ noDelay: true });
    const balancer = new Balancer(server);
    server.on("connection", (socket) => balancer.#connect(socket, balancer.#targets.length));
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    return balancer;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  add(port: number): void {
    this.#targets.push(port);
  }

  remove(port: number): void {
    this.#targets = this.#targets.filter((target) => target !== port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #connect(client: Socket, attempts: number): void {
    const target = this.#targets[this.#next++ % Math.max(1, this.#targets.length)];
    if (target === undefined || attempts === 0) {
      client.destroy();
      return;
    }
    const upstream = createConnection({ host: "127.0.0.1", port: target, noDelay: true });
    upstream.once("error", () => this.#connect(client, attempts - 1));
    upstream.once("connect", () => {
      upstream.removeAllListeners("error");
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.on("error", () => socket.destroy());
        socket.once("close", () => {
          this.#sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
      }
      client.pipe(upstream).pipe(client);
    });
  }
}
