import { type Agent, request as httpRequest, type IncomingMessage } from "node:http";
import type * as https from "node:https";
import { request as httpsRequest } from "node:https";
import type { TLSSocket } from "node:tls";

export interface Got {
  readonly status: number;
  readonly body: string;
  readonly headers: IncomingMessage["headers"];
  readonly peer: string | undefined;
}

export interface Ask {
  readonly method?: string;
  readonly body?: string;
  readonly agent?: Agent;
  readonly ca?: string;
}

/** One request to 127.0.0.1; by TLS when a CA is given, else by `agent` unless the options name another. */
export function askServer(port: number, agent: Agent, path: string, options: Ask = {}): Promise<Got> {
  const { ca } = options;
  return new Promise((resolve, reject) => {
    const target = { host: "127.0.0.1", port, path, method: options.method ?? "GET" };
    const onResponse = (response: IncomingMessage) => {
      const peer = ca ? (response.socket as TLSSocket).getPeerCertificate().serialNumber : undefined;
      let body = "";
      response.on("data", (chunk) => {
        body += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body, headers: response.headers, peer }));
    };
    const outgoing = ca
      ? httpsRequest({ ...target, ca, agent: options.agent as https.Agent }, onResponse)
      : httpRequest({ ...target, agent: options.agent ?? agent }, onResponse);
    outgoing.on("error", reject);
    outgoing.end(options.body);
  });
}
