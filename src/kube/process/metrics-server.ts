import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";
import { METRICS_PATH, type MetricsAccess } from "../access/metrics-access.ts";
import { type Answer, answering } from "../http/answering.ts";
import type { CertificateSource } from "../http/certificate-source.ts";
import { listenOn } from "../http/listen.ts";
import type { Log } from "../log.ts";

export interface MetricsServerOptions {
  /** 0 for any free port. */
  readonly port: number;
  readonly host?: string;
  readonly tls: CertificateSource;
  readonly access: Pick<MetricsAccess, "refusalOf">;
  readonly metrics: Registry;
  readonly log: Log;
}

const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 10_000, handshakeTimeout: 10_000 };
/** Above the interval at which it is usual to scrape. */
const KEEP_ALIVE_MS = 120_000;
const MAX_CONNECTIONS = 100;

/** `/metrics` by HTTPS, on Node's own server: fastify would cost a process 15 MB of memory. */
export class MetricsServer {
  readonly #options: MetricsServerOptions;
  readonly #server: Server;
  #unsubscribe: (() => void) | undefined;

  constructor(options: MetricsServerOptions) {
    this.#options = options;
    const { access, metrics, log } = options;
    this.#server = createServer({ ...TIMEOUTS, keepAliveTimeout: KEEP_ALIVE_MS });
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on("tlsClientError", (error) => log.debug({ err: error }, "a TLS handshake failed"));
    const answer = async (authorization: string | undefined): Promise<Answer> => {
      const refusal = await access.refusalOf(authorization);
      if (refusal === undefined) return metricsAnswer(metrics);
      const { statusCode: status, message } = refusal;
      return { status, body: `${message}\n`, ...(status === 401 && { headers: { "www-authenticate": "Bearer" } }) };
    };
    this.#server.on("request", answering({ [METRICS_PATH]: ({ headers }) => answer(headers.authorization) }, log));
  }

  async listen(): Promise<void> {
    const { tls, port, host, log } = this.#options;
    this.#unsubscribe = tls.onChange(() => this.#loadCertificate());
    this.#loadCertificate();
    await listenOn(this.#server, { port, host });
    this.#server.on("error", (error) => log.error({ err: error }, "the metrics listener has an error"));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? this.#options.port;
  }

  close(): void {
    this.#unsubscribe?.();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** New connections get the source's present certificate and limits; those that are open stay. */
  #loadCertificate(): void {
    const { tls, log } = this.#options;
    const certificate = tls.current();
    if (certificate === undefined) return;
    const { cert, key, limits } = certificate;
    try {
      this.#server.setSecureContext({ cert, key, ...limits });
    } catch (error) {
      log.error(
        { err: error },
        "the new certificate of the metrics or its TLS limits cannot be used; the old ones stay",
      );
    }
  }
}

export async function metricsAnswer(metrics: Registry): Promise<Answer> {
  return { status: 200, type: metrics.contentType, body: await metrics.metrics() };
}
