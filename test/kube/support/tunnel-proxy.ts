/** Proxies on loopback that lead to one server, whatever name they are asked for, and count the tunnels that they open. */
import { createServer, type Server } from "node:http";
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from "node:net";

export class TunnelProxy implements AsyncDisposable {
  readonly #server: Server | TcpServer;
  readonly #sockets = new Set<Socket>();
  readonly #scheme: string;
  /** The places that it was asked for, as `host:port`. */
  readonly asked: string[] = [];

  private constructor(scheme: "http" | "socks5", server: Server | TcpServer) {
    this.#scheme = scheme;
    this.#server = server;
    server.on("connection", (socket: Socket) => this.#keep(socket));
  }

  /** An HTTP proxy, RFC 9110, 9.3.6. `login`: `user:password`, without which it opens nothing. `target`: `host:port`. */
  static async http(target: string, login?: string): Promise<TunnelProxy> {
    const server = createServer((_, response) => response.writeHead(501).end());
    const proxy = new TunnelProxy("http", server);
    server.on("connect", ({ url = "", headers }, socket: Socket) => {
      const wanted = login === undefined ? undefined : `Basic ${Buffer.from(login).toString("base64")}`;
      if (wanted !== undefined && headers["proxy-authorization"] !== wanted) {
        socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
        return;
      }
      proxy.#open(url, socket, target, () => socket.write("HTTP/1.1 200 Connection established\r\n\r\n"));
    });
    return proxy.#listen();
  }

  /** A SOCKS5 proxy without authentication, RFC 1928. */
  static async socks(target: string): Promise<TunnelProxy> {
    const server = createTcpServer((socket) => {
      socket.once("data", () => {
        socket.write(Buffer.from([5, 0]));
        socket.once("data", (request) => {
          // A name, as whoever leaves its look-up to the proxy sends it.
          const length = request[4] ?? 0;
          const name = request[3] === 3 ? request.toString("latin1", 5, 5 + length) : "an address";
          const place = `${name}:${request.readUInt16BE(5 + length)}`;
          proxy.#open(place, socket, target, () => socket.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0])));
        });
      });
    });
    const proxy = new TunnelProxy("socks5", server);
    return proxy.#listen();
  }

  /** Takes connections, and says nothing. */
  static silent(): Promise<TunnelProxy> {
    return new TunnelProxy(
      "http",
      createTcpServer((socket) => socket.resume()),
    ).#listen();
  }

  get connections(): number {
    return this.#sockets.size;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  #open(place: string, socket: Socket, target: string, onOpen: () => void): void {
    this.asked.push(place);
    const { hostname, port } = new URL(`tcp://${target}`);
    const far = connect(Number(port), hostname, () => {
      onOpen();
      socket.pipe(far).pipe(socket);
    });
    this.#keep(far);
    far.once("close", () => socket.destroy());
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => this.#sockets.delete(socket));
  }
}
