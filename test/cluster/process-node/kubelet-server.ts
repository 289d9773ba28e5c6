/** The node's HTTPS end towards the API server: container logs for `kubectl logs`, and forwarded ports. */

import { open } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { TLSSocket } from "node:tls";
import { systemClock } from "../../../src/kube/clock.ts";
import { KUBELET_CLIENT } from "../control-plane/arguments.ts";
import { previousLog } from "./container.ts";
import type { NodeConfig } from "./node-config.ts";
import type { Pods } from "./pods.ts";
import { PortForwards } from "./port-forward.ts";

/** Sends a container's log file: all of it, its last lines, or new lines as they come. */

interface LogOptions {
  readonly follow: boolean;
  readonly tailLines?: number;
  /** Following ends when this says no and everything is sent. */
  readonly running: () => boolean;
}

const POLL_MS = 100;
const CHUNK_BYTES = 64 * 1024;

async function sendLog(response: ServerResponse, path: string, options: LogOptions): Promise<void> {
  try {
    await using file = await open(path);
    let position = options.tailLines === undefined ? 0 : await tailOffset(path, options.tailLines);
    const buffer = Buffer.alloc(CHUNK_BYTES);
    for (;;) {
      const running = options.running();
      const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
      position += bytesRead;
      if (bytesRead > 0) response.write(Buffer.from(buffer.subarray(0, bytesRead)));
      if (bytesRead === 0 && (!options.follow || !running || response.destroyed)) break;
      if (bytesRead === 0) await systemClock.sleep(POLL_MS);
    }
    response.end();
  } catch (error) {
    if (!response.headersSent) response.writeHead(404);
    response.end(error instanceof Error ? `${error.message}\n` : undefined);
  }
}

async function tailOffset(path: string, lines: number): Promise<number> {
  await using file = await open(path);
  const text = await file.readFile();
  let end = text.length;
  if (text[end - 1] === NEWLINE) end -= 1;
  for (let seen = 0; seen < lines; seen += 1) {
    const newline = text.lastIndexOf(NEWLINE, end - 1);
    if (newline < 0 || end === 0) return 0;
    end = newline;
  }
  return Math.min(end + 1, text.length);
}

const NEWLINE = 10;

export const KUBELET_PORT = 10250;

const LOGS = /^\/containerLogs\/([^/]+)\/([^/]+)\/([^/]+)$/;

/** Only the API server is answered. */
export async function startKubeletServer(config: NodeConfig, pods: Pods): Promise<void> {
  const { cert, key } = config.credentials;
  const tls = { cert, key, ca: config.caCertificate, requestCert: true, rejectUnauthorized: true };
  const server = createServer(tls, (request, response) => {
    const end = (status: number, text: string): void => {
      response.writeHead(status).end(`${text}\n`);
    };
    if (!isOfApiServer(request)) {
      end(403, "only the API server is answered");
      return;
    }
    const url = new URL(request.url ?? "/", "https://node");
    const [, namespace = "", name = "", containerName] = LOGS.exec(url.pathname) ?? [];
    if (containerName === undefined) {
      end(501, "a process node serves logs and forwarded ports only");
      return;
    }
    const container = pods.find(namespace, name)?.container(containerName);
    if (container === undefined) {
      end(404, `container ${containerName} of pod ${namespace}/${name} has not run on this node`);
      return;
    }
    const previous = url.searchParams.get("previous") === "true";
    const tailLines = url.searchParams.get("tailLines");
    void sendLog(response, previous ? previousLog(container.logFile) : container.logFile, {
      follow: url.searchParams.get("follow") === "true" && !previous,
      ...(tailLines === null ? {} : { tailLines: Number(tailLines) }),
      running: () => container.running,
    });
  });
  const forwards = new PortForwards((namespace, name) => pods.find(namespace, name)?.address);
  server.on("upgrade", (request, socket, head) => {
    if (isOfApiServer(request)) forwards.accept(request, socket, head);
    else socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(KUBELET_PORT, config.plan.address, resolve);
  });
}

const isOfApiServer = ({ socket }: IncomingMessage): boolean =>
  (socket as TLSSocket).getPeerCertificate().subject.CN === KUBELET_CLIENT;
