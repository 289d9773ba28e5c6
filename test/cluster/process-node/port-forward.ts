/** What a kubelet does for `kubectl port-forward` by a WebSocket: channel 0 has the data, and both channels begin with the port. */
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";

const PORT_FORWARD = /^\/portForward\/([^/]+)\/([^/]+)/;
const [DATA, FAULT] = [0, 1];

/** `addressOf`: the pod's address, undefined for a pod that is not here. */
export class PortForwards {
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #addressOf: (namespace: string, name: string) => string | undefined;

  constructor(addressOf: (namespace: string, name: string) => string | undefined) {
    this.#addressOf = addressOf;
  }

  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const url = new URL(request.url ?? "/", "https://node");
    const [, namespace = "", name = ""] = PORT_FORWARD.exec(url.pathname) ?? [];
    const host = this.#addressOf(namespace, name);
    if (host === undefined) {
      socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    const port = Number(url.searchParams.get("port"));
    this.#sockets.handleUpgrade(request, socket, head, (client) => {
      const pod = connect({ host, port });
      const frame = (channel: number, content: Buffer): void =>
        client.send(Buffer.concat([Buffer.of(channel), content]));
      const number = Buffer.alloc(2);
      number.writeUInt16LE(port);
      for (const channel of [DATA, FAULT]) frame(channel, number);
      pod.on("data", (content) => frame(DATA, content));
      pod.on("error", ({ message }) => frame(FAULT, Buffer.from(message)));
      pod.once("close", () => client.close());
      client.on("message", (content: Buffer) => void pod.write(content.subarray(1)));
      client.once("close", () => pod.destroy());
    });
  }
}
