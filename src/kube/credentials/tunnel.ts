import type { Agent } from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { rootCertificates } from "node:tls";
import { deadline } from "../client/deadline.ts";
import { CONNECT_TIMEOUT_MS, TCP_KEEP_ALIVE_DELAY_MS } from "../client/transport.ts";
import type { Credentials, TlsMaterial } from "./credentials.ts";

/** Not by `import`, for the reason in `../server/guarded-server.ts`. */
const http = process.getBuiltinModule("node:http");
const https = process.getBuiltinModule("node:https");

const SOCKS_PORT = 1080;

interface Tunnels {
  readonly proxy: URL;
  /** Of the server. Its authority is trusted for an HTTPS proxy too, beside those that Node knows. */
  readonly tls: TlsMaterial;
}

/** Where a tunnel leads. */
interface TunnelTarget {
  readonly host: string;
  readonly port: number;
}

/** For `Credentials`: makes every connection, and so every request, watch and stream, go through the proxy. */
export function tunnelsOf(proxy: URL): NonNullable<Credentials["proxied"]> {
  return (agent, tls) => tunnelled(agent, { proxy, tls });
}

function tunnelled(agent: Agent, tunnels: Tunnels): Agent {
  return overSockets(agent, async (target, ended) => {
    const socket = await openTunnel(tunnels, target, ended);
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_DELAY_MS);
    return socket;
  });
}

/** Makes the connections of an agent go over what `open` gives. `ended` aborts when the agent is destroyed. */
export function overSockets(agent: Agent, open: (target: TunnelTarget, ended: AbortSignal) => Promise<Duplex>): Agent {
  const direct = agent.createConnection.bind(agent);
  const destroy = agent.destroy.bind(agent);
  const ended = new AbortController();
  agent.createConnection = (options, callback) => {
    open({ host: options.host ?? "", port: Number(options.port) }, ended.signal).then(
      (socket) => {
        if (agent instanceof https.Agent) callback?.(null, direct({ ...options, socket } as typeof options) as Socket);
        else callback?.(null, (socket as Socket).setTimeout(options.timeout ?? 0));
      },
      (error: Error) => callback?.(error, undefined as unknown as Socket),
    );
    return undefined;
  };
  agent.destroy = () => {
    ended.abort();
    destroy();
  };
  return agent;
}

async function openTunnel(tunnels: Tunnels, target: TunnelTarget, ended: AbortSignal): Promise<Socket> {
  const { proxy } = tunnels;
  using limit = deadline(CONNECT_TIMEOUT_MS, ended);
  try {
    const isSocks = proxy.protocol.startsWith("socks");
    return await (isSocks ? bySocks(proxy, target, limit.signal) : byConnect(tunnels, target, limit.signal));
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = limit.expired ? `no tunnel within ${CONNECT_TIMEOUT_MS} ms` : (code ?? message);
    // Without the password that may be in its URL.
    throw new Error(`proxy ${proxy.protocol}//${proxy.host}: ${why}`, { cause });
  }
}

/** RFC 9110, 9.3.6. */
async function byConnect({ proxy, tls }: Tunnels, { host, port }: TunnelTarget, signal: AbortSignal): Promise<Socket> {
  const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const { ca, rejectUnauthorized } = tls;
  const { username, password } = credentialsIn(proxy);
  const auth = username === "" ? undefined : `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  const asked = (proxy.protocol === "https:" ? https : http).request({
    method: "CONNECT",
    host: bareHost(proxy),
    port: proxy.port || (proxy.protocol === "https:" ? 443 : 80),
    path: authority,
    headers: { host: authority, ...(auth === undefined ? {} : { "proxy-authorization": auth }) },
    agent: false,
    signal,
    ...(ca === undefined ? {} : { ca: [...rootCertificates, ca] }),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
  });
  asked.end();
  return new Promise<Socket>((resolve, reject) => {
    asked.once("error", reject);
    asked.once("connect", ({ statusCode = 0, statusMessage = "" }, socket: Socket) => {
      if (statusCode >= 200 && statusCode < 300) {
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(new Error(`it answers ${statusCode} ${statusMessage}`.trim()));
    });
    asked.once("response", (answer) => {
      answer.destroy();
      reject(new Error(`it answers ${answer.statusCode} ${answer.statusMessage}`.trim()));
    });
  });
}

/** RFC 1928. The proxy looks up the name of the server. */
async function bySocks(proxy: URL, { host, port }: TunnelTarget, signal: AbortSignal): Promise<Socket> {
  const { SocksClient } = await import("socks");
  const proxyPort = Number(proxy.port) || SOCKS_PORT;
  const raw = connect({ host: bareHost(proxy), port: proxyPort, signal });
  await new Promise<void>((resolve, reject) => {
    raw.once("connect", resolve);
    raw.once("error", reject);
  });
  const { username, password } = credentialsIn(proxy);
  const { socket } = await SocksClient.createConnection({
    command: "connect",
    destination: { host, port },
    existing_socket: raw,
    proxy: {
      host: bareHost(proxy),
      port: proxyPort,
      type: 5,
      ...(username === "" ? {} : { userId: username, password }),
    },
  });
  return socket;
}

function credentialsIn({ username, password }: URL): { readonly username: string; readonly password: string } {
  return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
}

const bareHost = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1");
