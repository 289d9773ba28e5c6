import type { FastifyInstance } from "fastify";
import type { Registry } from "prom-client";
import { METRICS_PATH, MetricsAccess } from "../kube/access/metrics-access.ts";
import { SubjectAccess } from "../kube/access/subject-access.ts";
import { TokenReviews } from "../kube/access/token-review.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { CertificateSource } from "../kube/http/certificate-source.ts";
import { HttpServer } from "../kube/http/server.ts";
import type { Log } from "../kube/log.ts";
import { Queries } from "./inspection/queries.ts";
import { routeInspection } from "./inspection/rest.ts";
import type { Listener, Served } from "./replica.ts";
import { Names } from "./webhooks/names.ts";
import { routeWebhooks } from "./webhooks/routes.ts";

/** Whose names a refusal may tell: the caller waits for it, two seconds at the start of a VM. */
const NAMES = { maxInFlight: 4, timeoutMs: 500 };

/** Questions about those who inspect. They have a client of their own, which makes no more calls at once. */
export const MAX_INSPECTION_CALLS = 4;
const QUESTIONS = { maxInFlight: MAX_INSPECTION_CALLS, timeoutMs: 5_000 };

/** A page and some commands at once. An answer may be some megabytes, so that few of them are made at a time. */
const INSPECTION_LIMITS = { maxConnections: 128, maxRequests: 16, maxBodyBytes: 1_024, maxBytes: 16_384 };

export interface ListenersOptions {
  readonly client: KubeClient;
  /** Of inspection, so that it takes no call from admission. */
  readonly inspectionClient: KubeClient;
  readonly port: number;
  readonly inspectionPort: number;
  readonly host?: string;
  /** Of the webhooks: it says who may call them. */
  readonly webhookTls: CertificateSource;
  readonly tls: CertificateSource;
  readonly registry: Registry;
  readonly log: Log;
}

/** What a replica serves by HTTPS: webhooks on one port, inspection on another, which have nothing in common. */
export class Listeners implements Listener {
  readonly #webhooks: HttpServer;
  readonly #inspection: HttpServer;

  constructor(options: ListenersOptions, { admission, caches, metrics, clock, readiness }: Served) {
    const { client, inspectionClient, port, inspectionPort, registry, log } = options;
    this.#webhooks = new HttpServer({ ...options, tls: options.webhookTls, port });
    const names = new Names(new SubjectAccess({ client, ...NAMES }), log);
    routeWebhooks(this.#webhooks.app, { parts: admission, names, metrics, clock });
    this.#inspection = new HttpServer({ ...options, ...INSPECTION_LIMITS, port: inspectionPort });
    const { app } = this.#inspection;
    const who = {
      tokens: new TokenReviews({ client: inspectionClient, ...QUESTIONS }),
      access: new SubjectAccess({ client: inspectionClient, ...QUESTIONS }),
    };
    routeInspection(app, { queries: new Queries(caches), ...who });
    routeMetrics(app, new MetricsAccess(who), registry);
    app.get("/healthz", (_request, reply) => reply.send("ok\n"));
    app.get("/readyz", (_request, reply) => {
      const ready = readiness();
      return ready === true ? reply.send("ok\n") : reply.code(503).send(`${ready}\n`);
    });
  }

  /** Of the webhooks. */
  get port(): number {
    return this.#webhooks.port;
  }

  get inspectionPort(): number {
    return this.#inspection.port;
  }

  get ready(): boolean {
    return this.#webhooks.ready;
  }

  set ready(ready: boolean) {
    this.#webhooks.ready = ready;
  }

  async listen(): Promise<void> {
    await Promise.all([this.#webhooks.listen(), this.#inspection.listen()]);
  }

  async drain(drainMs: number, settleMs: number): Promise<void> {
    await Promise.all([this.#webhooks.drain(drainMs, settleMs), this.#inspection.drain(drainMs, settleMs)]);
  }
}

function routeMetrics(app: FastifyInstance, access: MetricsAccess, registry: Registry): void {
  app.get(METRICS_PATH, async ({ headers }, reply) => {
    const refusal = await access.refusalOf(headers.authorization);
    if (refusal?.statusCode === 401) reply.header("www-authenticate", "Bearer");
    if (refusal !== undefined) throw refusal;
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}
