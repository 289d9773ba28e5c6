import { randomBytes } from "node:crypto";
import type { FastifyInstance } from "fastify";
import type { Registry } from "prom-client";
import { METRICS_PATH, MetricsAccess } from "../kube/access/metrics-access.ts";
import { SubjectAccess } from "../kube/access/subject-access.ts";
import { TokenReviews } from "../kube/access/token-review.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Credentials } from "../kube/credentials/credentials.ts";
import type { Log } from "../kube/log.ts";
import type { CertificateSource } from "../kube/server/certificate-source.ts";
import { HttpServer } from "../kube/server/http-server.ts";
import { RouteServer } from "../kube/server/route-server.ts";
import { OwnerRedaction } from "./admission/owner-redaction.ts";
import { routeWebhooks } from "./admission/routes.ts";
import { DenialLog } from "./inspection/queries/denials.ts";
import { Inspector } from "./inspection/queries/inspector.ts";
import { replicaAsker } from "./inspection/rest/ask-replica.ts";
import { type PageFiles, routePage } from "./inspection/rest/page.ts";
import { answerAsProblem } from "./inspection/rest/problem.ts";
import { ReaderAccess } from "./inspection/rest/reader-access.ts";
import { leaderBy, Replicas } from "./inspection/rest/replicas.ts";
import { routeInspection } from "./inspection/rest/rest.ts";
import { LEASE_NAME, type Listener, type Served } from "./replica.ts";

/** Whose names a refusal may tell: the caller waits for it, two seconds at the start of a VM. */
const NAMES = { maxInFlight: 4, timeoutMs: 500 };

/** Questions about those who inspect. They have a client of their own, which makes no more calls at once. */
export const MAX_INSPECTION_CALLS = 4;
const ACCESS_REVIEWS = { maxInFlight: MAX_INSPECTION_CALLS, timeoutMs: 5_000 };
/** A page asks several things at once, each of which needs a right of its own: they wait for each other. */
const MAX_QUESTIONS_OF_RIGHTS = 16;

/** Pages and some commands at once. How many of them are answered at a time, AnswerPlaces says. */
export const INSPECTION_LIMITS = { maxConnections: 256, maxBodyBytes: 1_024, maxBytes: 16_384 };

/** Of what tells this process from the one before. */
const BOOT_BYTES = 4;

export interface ListenersOptions {
  readonly client: KubeClient;
  /** Of inspection, so that it takes no call from admission. */
  readonly inspectionClient: KubeClient;
  readonly port: number;
  readonly inspectionPort: number;
  readonly host?: string;
  /** Of the webhooks: it says who may call them. */
  readonly webhookTls: CertificateSource;
  /** Of inspection: it says whose certificates tell who asks. */
  readonly tls: CertificateSource;
  /** With which other replicas are asked. */
  readonly credentials: Credentials;
  /** Name and namespace of the own pod. */
  readonly self: { readonly name: string; readonly namespace: string };
  readonly registry: Registry;
  /** The page that inspection serves; none unless given. */
  readonly page?: PageFiles;
  readonly log: Log;
}

/** What a replica serves by HTTPS: webhooks on one port, inspection on another, which have nothing in common. */
export class Listeners implements Listener {
  readonly #webhooks: RouteServer;
  readonly #inspection: HttpServer;
  readonly #inspector: Inspector;

  constructor(options: ListenersOptions, { admission, caches, metrics, clock, readiness }: Served) {
    const { client, inspectionClient, port, inspectionPort, registry, log } = options;
    this.#webhooks = new RouteServer({ ...options, tls: options.webhookTls, port });
    const names = new OwnerRedaction(new SubjectAccess({ client, ...NAMES }), log);
    const { self, credentials, tls, page } = options;
    const denials = new DenialLog(self.name, clock);
    const onDenied = denials.add.bind(denials);
    routeWebhooks(this.#webhooks, { parts: admission, caches, names, metrics, clock, onDenied });
    this.#inspection = new HttpServer({
      ...options,
      ...INSPECTION_LIMITS,
      port: inspectionPort,
      answerFailure: answerAsProblem,
    });
    const { app, hold } = this.#inspection;
    const who = {
      tokens: new TokenReviews({ client: inspectionClient, ...ACCESS_REVIEWS }),
      access: new SubjectAccess({ client: inspectionClient, ...ACCESS_REVIEWS, maxInFlight: MAX_QUESTIONS_OF_RIGHTS }),
    };
    const { namespace } = self;
    this.#inspector = new Inspector({
      caches,
      clock,
      denials,
      replicas: new Replicas({
        client: inspectionClient,
        namespace,
        self: self.name,
        ask: replicaAsker(credentials, tls),
        clock,
        log,
      }),
      leader: leaderBy(inspectionClient, { name: LEASE_NAME, namespace }, clock),
      self: self.name,
      boot: randomBytes(BOOT_BYTES).toString("hex"),
    });
    const ownUser = async () => who.tokens.userOf((await credentials.current()).headers.authorization);
    const access = new ReaderAccess({ ...who, self: ownUser, clock });
    const isSynced = (): true | string => caches.hasSynced || "its caches are being filled";
    routeInspection(app, { inspector: this.#inspector, access, readiness: isSynced, hold, clock, log });
    routePage(app, page ?? new Map());
    routeMetrics(app, new MetricsAccess(who), registry, access);
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
    if (ready) this.#inspector.begin();
  }

  async listen(): Promise<void> {
    await Promise.all([this.#webhooks.listen(), this.#inspection.listen()]);
  }

  async drain(drainMs: number, settleMs: number): Promise<void> {
    await Promise.all([this.#webhooks.drain(drainMs, settleMs), this.#inspection.drain(drainMs, settleMs)]);
  }
}

function routeMetrics(app: FastifyInstance, access: MetricsAccess, registry: Registry, readers: ReaderAccess): void {
  app.get(METRICS_PATH, async ({ headers, ip }, reply) => {
    const refusal = await access.refusalOf(headers.authorization, () => readers.mayAsk(ip));
    if (refusal?.statusCode === 401) reply.header("www-authenticate", "Bearer");
    if (refusal !== undefined) throw refusal;
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}
