import type { KubeClient } from "../kube/client/client.ts";
import type { CertificateSource } from "../kube/http/certificate-source.ts";
import { HttpServer } from "../kube/http/server.ts";
import type { Log } from "../kube/log.ts";
import { Access } from "./inspection/access.ts";
import { Queries } from "./inspection/queries.ts";
import { routeInspection } from "./inspection/rest.ts";
import type { Served } from "./replica.ts";
import { routeWebhooks } from "./webhooks/routes.ts";

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
    routeWebhooks(server.app, admission, metrics, clock);
    routeInspection(server.app, new Queries(caches), new Access(client));
    server.app.get("/healthz", (_request, reply) => reply.send("ok\n"));
    server.app.get("/readyz", (_request, reply) => {
      const ready = readiness();
      return ready === true ? reply.send("ok\n") : reply.code(503).send(`${ready}\n`);
    });
    return server;
  };
}
