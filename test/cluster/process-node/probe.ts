/** One try of a probe: httpGet, tcpSocket or exec. */
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { connect } from "node:net";
import type { Container, HTTPGetAction, Probe } from "kubernetes-types/core/v1.js";
import { runCommand } from "../command.ts";
import { plainEnv } from "../requirements.ts";
import { enterContainer } from "./enter-container.ts";

export interface ProbeTarget {
  readonly container: Container;
  readonly address: string;
  readonly pid: number | undefined;
}

export async function runProbe(probe: Probe, target: ProbeTarget): Promise<boolean> {
  const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000;
  try {
    if (probe.httpGet) return await httpGet(probe.httpGet, target, timeoutMs);
    if (probe.tcpSocket) {
      const { host = target.address, port } = probe.tcpSocket;
      return await tcpConnect(host, portNumber(port, target.container), timeoutMs);
    }
    if (probe.exec && target.pid !== undefined) {
      const argv = enterContainer(target.pid, probe.exec.command ?? []);
      const { code } = await runCommand(argv, { env: plainEnv(), signal: AbortSignal.timeout(timeoutMs) });
      return code === 0;
    }
  } catch {
    // refused, reset or timed out
  }
  return false;
}

function httpGet(action: HTTPGetAction, { container, address }: ProbeTarget, timeoutMs: number): Promise<boolean> {
  const options = {
    host: action.host ?? address,
    port: portNumber(action.port, container),
    path: action.path ?? "/",
    headers: {
      "user-agent": "kube-probe/process-node",
      ...Object.fromEntries((action.httpHeaders ?? []).map(({ name, value }) => [name, value])),
    },
    agent: false,
    signal: AbortSignal.timeout(timeoutMs),
  } as const;
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const outgoing =
    action.scheme === "HTTPS" ? requestHttps({ ...options, rejectUnauthorized: false }) : requestHttp(options);
  outgoing.once("response", ({ statusCode = 0 }) => {
    resolve(statusCode >= 200 && statusCode < 400);
    outgoing.destroy();
  });
  outgoing.once("error", reject);
  outgoing.end();
  return promise;
}

function tcpConnect(host: string, port: number, timeoutMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host, port, timeout: timeoutMs });
  const end = (good: boolean): void => {
    socket.destroy();
    resolve(good);
  };
  socket.once("connect", () => end(true));
  socket.once("error", () => end(false));
  socket.once("timeout", () => end(false));
  return promise;
}

function portNumber(port: number | string, container: Container): number {
  if (typeof port === "number") return port;
  const named = container.ports?.find(({ name }) => name === port);
  if (named === undefined) throw new Error(`container ${container.name} has no port ${port}`);
  return named.containerPort;
}
