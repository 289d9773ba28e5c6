/** The node's HTTPS end towards the API server: container logs, for `kubectl logs`. */
import { createServer } from "node:https";
import type { TLSSocket } from "node:tls";
import { KUBELET_CLIENT } from "../control-plane/arguments.ts";
import { previousLog } from "./container.ts";
import { sendLog } from "./log-stream.ts";
import type { NodeConfig } from "./node-config.ts";
import type { Pods } from "./pods.ts";

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
    if ((request.socket as TLSSocket).getPeerCertificate().subject.CN !== KUBELET_CLIENT) {
      end(403, "only the API server is answered");
      return;
    }
    const url = new URL(request.url ?? "/", "https://node");
    const [, namespace = "", name = "", containerName] = LOGS.exec(url.pathname) ?? [];
    if (containerName === undefined) {
      end(501, "a process node serves logs only");
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
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(KUBELET_PORT, config.plan.address, resolve);
  });
}
