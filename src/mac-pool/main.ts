/**
 * Process of the MAC pool, in two or more replicas that all answer admission requests.
 *
 * Environment: POD_NAME, POD_NAMESPACE, HTTPS_PORT (webhooks), INSPECTION_PORT (/api/v1 and the page), HEALTH_PORT (plain HTTP probes
 * and metrics), TLS_SECRET (name of the Secret with the serving certificate), LOG_LEVEL.
 */

import path from "node:path";
import { PAGE_FOLDER } from "../api/image.ts";
import {
  API_SERVER_CLIENTS,
  API_SERVER_CLIENTS_KEY,
  MAC_POOL_HTTPS_PORT,
  MAC_POOL_INSPECTION_PORT,
  MAC_POOL_MANAGER,
  MAC_POOL_SERVICE,
  MAC_POOL_WEBHOOK_CLIENTS,
  PRODUCT_VERSION,
  SYSTEM_NAMESPACE,
} from "../api/names.ts";
import { ClientAuthoritySource } from "../certs/client-authority-source.ts";
import { ProfiledTlsSource } from "../certs/profiled-tls-source.ts";
import { SecretTlsSource } from "../certs/tls-source.ts";
import { KubeClient } from "../kube/client/client.ts";
import { loadCredentials } from "../kube/credentials/credentials.ts";
import { readPort, requireEnv, runProcess } from "../kube/process/process.ts";
import { readPage } from "./inspection/rest/page.ts";
import { Listeners, MAX_INSPECTION_CALLS } from "./listeners.ts";
import { Replica } from "./replica.ts";

const PAGE = path.resolve(import.meta.dirname, "../..", PAGE_FOLDER);
const DEFAULT_HEALTH_PORT = 8081;
/**
 * Calls of the API server under way at once, for admission and for the leader's work. An API server that falls behind
 * answers more of them no sooner, and each needs a connection, with a handshake just when there is no time for it.
 */
const MAX_IN_FLIGHT = 24;
const MAX_IN_FLIGHT_OF_LEADER = 24;

await runProcess({
  name: MAC_POOL_MANAGER,
  env: process.env,
  healthPort: readPort(process.env, "HEALTH_PORT") ?? DEFAULT_HEALTH_PORT,
  main: async ({ env, log, signal, metrics, health, restart }) => {
    const identity = requireEnv(env, "POD_NAME");
    const namespace = requireEnv(env, "POD_NAMESPACE");
    const credentials = await loadCredentials(env);
    const connection = {
      credentials,
      userAgent: `${MAC_POOL_MANAGER}/${PRODUCT_VERSION}`,
      log,
      metrics,
      onRestored: restart,
    };
    await using client = new KubeClient({ ...connection, maxInFlight: MAX_IN_FLIGHT });
    await using leaderClient = new KubeClient({ ...connection, maxInFlight: MAX_IN_FLIGHT_OF_LEADER });
    await using inspectionClient = new KubeClient({ ...connection, maxInFlight: MAX_INSPECTION_CALLS });
    const certificates = new SecretTlsSource({
      client,
      namespace,
      secret: env.TLS_SECRET ?? MAC_POOL_SERVICE,
      log,
      metrics,
    });
    const tls = new ProfiledTlsSource({ client, certificates, log, metrics });
    const clients = { namespace, configMap: MAC_POOL_WEBHOOK_CLIENTS };
    const webhookTls = new ClientAuthoritySource({ client, certificates: tls, ...clients, log, metrics });
    const inspectionTls = new ClientAuthoritySource({
      client,
      certificates: tls,
      namespace: SYSTEM_NAMESPACE,
      configMap: API_SERVER_CLIENTS,
      key: API_SERVER_CLIENTS_KEY,
      isOptional: true,
      log,
      metrics,
    });
    const ports = {
      port: readPort(env, "HTTPS_PORT") ?? MAC_POOL_HTTPS_PORT,
      inspectionPort: readPort(env, "INSPECTION_PORT") ?? MAC_POOL_INSPECTION_PORT,
    };
    const page = await readPage(PAGE, log);
    const replica = new Replica({
      client,
      leaderClient,
      identity,
      namespace,
      tls: webhookTls,
      listen: (served) =>
        new Listeners(
          {
            client,
            inspectionClient,
            ...ports,
            webhookTls,
            tls: inspectionTls,
            credentials,
            self: { name: identity, namespace },
            registry: metrics,
            page,
            log,
          },
          served,
        ),
      log,
      metrics,
    });
    health.ready("replica", () => replica.readiness());
    const sources = [certificates, tls, webhookTls, inspectionTls];
    await Promise.all([...sources.map((source) => source.run(signal)), replica.run(signal)]);
  },
});
