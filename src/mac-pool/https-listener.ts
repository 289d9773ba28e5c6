import type { KubeClient } from "../kube/client/client.ts";
import type { CertificateSource } from "../kube/http/certificate-source.ts";
import { HttpServer } from "../kube/http/server.ts";
import type { Log } from "../kube/log.ts";
import { SubjectAccess } from "./access/subject-access.ts";
import { TokenReviews } from "./access/token-review.ts";
import { Queries } from "./inspection/queries.ts";
import { routeInspection } from "./inspection/rest.ts";
import type { Served } from "./replica.ts";
import { Names } from "./webhooks/names.ts";
import { routeWebhooks } from "./webhooks/routes.ts";

/** Whose names a refusal may tell: the caller waits for it, two seconds at the start of a VM. */
const NAMES = { maxInFlight: 8, timeoutMs: 500 };
const QUESTIONS = { maxInFlight: 4, timeoutMs: 5_000 };

export interface HttpsOptions {
  readonly client: KubeClient;
  readonly port: number;
  readonly host?: string;
  readonly tls: CertificateSource;
  readonly log: Log;
}

/** Serves webhooks, inspection and readiness of a replica by HTTPS. */
export function httpsListener({ client, ...options }: HttpsOptions): (served: Served) => HttpServer {
  return ({ admission, caches, metrics, clock, readiness }) => {
    const server = new HttpServer(options);
    const names = new Names(new SubjectAccess({ client, ...NAMES }), options.log);
    routeWebhooks(server.app, { parts: admission, names, metrics, clock });
    routeInspection(server.app, {
      queries: new Queries(caches),
      tokens: new TokenReviews({ client, ...QUESTIONS }),
      access: new SubjectAccess({ client, ...QUESTIONS }),
    });
    server.app.get("/healthz", (_request, reply) => reply.send("ok\n"));
    server.app.get("/readyz", (_request, reply) => {
      const ready = readiness();
      return ready === true ? reply.send("ok\n") : reply.code(503).send(`${ready}\n`);
    });
    return server;
  };
}
