/**
 * The process `cert-manager`: maintains the certificates of one webhook server. Ready when certificates and caBundles let
 * the API server call the webhooks.
 */
import { KubeClient } from "../kube/client/client.ts";
import { loadCredentials } from "../kube/credentials/credentials.ts";
import { readPort, requireEnv, runProcess } from "../kube/process/process.ts";
import { CertManager } from "./cert-manager.ts";
import { parseWebhookConfigurationRefs, readIntervals } from "./configuration.ts";
import { ProfiledMetrics } from "./profiled-metrics.ts";

const NOT_READY = "certificates and caBundles are not in place yet";

await runProcess({
  name: "cert-manager",
  env: process.env,
  healthPort: readPort(process.env, "HEALTH_PORT"),
  main: async ({ env, log, signal, health, metrics, restart }) => {
    health.ready("certificates", () => NOT_READY);
    await using client = new KubeClient({
      credentials: await loadCredentials(env),
      userAgent: "cert-manager",
      log,
      metrics,
      onRestored: restart,
    });
    const manager = new CertManager({
      client,
      namespace: requireEnv(env, "POD_NAMESPACE"),
      caSecret: requireEnv(env, "CA_SECRET"),
      servingSecret: requireEnv(env, "SERVING_SECRET"),
      serviceName: requireEnv(env, "SERVICE_NAME"),
      webhookConfigurations: parseWebhookConfigurationRefs(env.WEBHOOK_CONFIGURATIONS ?? ""),
      intervals: readIntervals(env),
      log,
      metrics,
    });
    health.ready("certificates", () => manager.ready || NOT_READY);
    const port = readPort(env, "METRICS_PORT");
    const serving = new ProfiledMetrics({ client, port, name: "cert-manager", metrics, log }).run(signal);
    await Promise.all([serving, manager.run(signal)]);
  },
});
