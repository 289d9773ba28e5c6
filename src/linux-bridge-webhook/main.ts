/**
 * The process of the Deployment `linux-bridge-webhook`: the pod webhook that requests node resources for a pod's
 * networks. Every replica serves; the leader also rotates the certificates. The process does not need the MAC pool,
 * which may be off. A product: imports `src/api`, `src/kube` and `src/certs`.
 */
import { LINUX_BRIDGE_WEBHOOK } from "../api/names.ts";
import { INJECT_RESOURCES_PATH } from "../api/webhook-paths.ts";
import { CertManager } from "../certs/cert-manager.ts";
import { readIntervals } from "../certs/intervals.ts";
import { serveMetrics } from "../certs/metrics-endpoint.ts";
import { ProfiledTlsSource } from "../certs/profiled-tls-source.ts";
import { SecretTlsSource } from "../certs/tls-source.ts";
import { parseWebhookConfigurationRefs } from "../certs/webhook-configuration-ref.ts";
import { admissionHandler } from "../kube/admission/admission-server.ts";
import { KubeClient } from "../kube/client/client.ts";
import { loadCredentials } from "../kube/client/credentials.ts";
import { HttpServer } from "../kube/http/server.ts";
import { LeaderElector } from "../kube/leader/leader-election.ts";
import { readPort, requireEnv, runProcess } from "../kube/process/process.ts";
import { NetworkCatalog } from "./network-catalog.ts";
import { podReview } from "./pod-review.ts";

const DEFAULT_HTTPS_PORT = 8443;

/** Endpoints follow a pod's readiness within this time. Until then requests still arrive. */
const SETTLE_MS = 3000;
const DRAIN_MS = 10_000;

const NO_CERTIFICATE = "there is no serving certificate yet";

await runProcess({
  name: LINUX_BRIDGE_WEBHOOK,
  env: process.env,
  healthPort: readPort(process.env, "HEALTH_PORT"),
  main: async ({ env, log, signal, health, metrics }) => {
    health.ready("certificate", () => NO_CERTIFICATE);
    const namespace = requireEnv(env, "POD_NAMESPACE");
    const servingSecret = env.TLS_SECRET ?? LINUX_BRIDGE_WEBHOOK;
    const missingNetwork = env.MISSING_NAD === "warn" ? "warn" : "deny";
    await using client = new KubeClient({
      credentials: await loadCredentials(env),
      userAgent: LINUX_BRIDGE_WEBHOOK,
      log,
      metrics,
    });

    const networks = new NetworkCatalog({ client, log, metrics });
    const serving = new SecretTlsSource({ client, namespace, secret: servingSecret, log, metrics });
    const tls = new ProfiledTlsSource({ client, certificates: serving, log, metrics });
    const keeping = {
      client,
      namespace,
      caSecret: env.CA_SECRET ?? `${LINUX_BRIDGE_WEBHOOK}-ca`,
      servingSecret,
      serviceName: env.SERVICE_NAME ?? LINUX_BRIDGE_WEBHOOK,
      webhookConfigurations: parseWebhookConfigurationRefs(
        env.WEBHOOK_CONFIGURATIONS ?? `Mutating/${LINUX_BRIDGE_WEBHOOK}`,
      ),
      intervals: readIntervals(env),
      log,
      metrics,
    };
    const elector = new LeaderElector({
      client,
      namespace,
      name: LINUX_BRIDGE_WEBHOOK,
      identity: requireEnv(env, "POD_NAME"),
      log,
    });
    const server = new HttpServer({ port: readPort(env, "HTTPS_PORT") ?? DEFAULT_HTTPS_PORT, tls, log });
    server.app.post(INJECT_RESOURCES_PATH, admissionHandler(podReview({ networks, missingNetwork })));
    health.ready("networks", () => networks.synced || "the cache of NetworkAttachmentDefinitions is not synced yet");
    health.ready("certificate", () => tls.current() !== undefined || NO_CERTIFICATE);

    // The watches run until the last requests are answered.
    const answered = new AbortController();
    const port = readPort(env, "METRICS_PORT");
    const following = Promise.all([
      networks.run(answered.signal),
      serving.run(answered.signal),
      tls.run(answered.signal),
      serveMetrics({ client, port, tls, metrics, log }, answered.signal),
    ]);
    await server.listen();
    await elector.run(signal, (leading) => new CertManager(keeping).run(leading));
    await server.drain(DRAIN_MS, SETTLE_MS);
    answered.abort();
    await following;
  },
});
