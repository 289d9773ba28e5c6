/**
 * The process of the Deployment `linux-bridge-webhook`: the pod webhook that requests node resources for a pod's
 * networks, and the lint of NetworkAttachmentDefinitions. Every replica serves. The operator keeps its certificate. The
 * process does not need the MAC pool, which may be off. A product: imports `src/api`, `src/kube`, `src/certs` and `src/nad-lint`.
 */
import { once } from "node:events";
import { readInjectionSettings } from "../api/injection-settings.ts";
import { readNadLint } from "../api/nad-lint-setting.ts";
import { LINUX_BRIDGE_WEBHOOK } from "../api/names.ts";
import { serveMetrics } from "../certs/metrics-endpoint.ts";
import { ProfiledTlsSource } from "../certs/profiled-tls-source.ts";
import { SecretTlsSource } from "../certs/tls-source.ts";
import { KubeClient } from "../kube/client/client.ts";
import { loadCredentials } from "../kube/credentials/credentials.ts";
import { readPort, requireEnv, runProcess } from "../kube/process/process.ts";
import { RouteServer } from "../kube/server/route-server.ts";
import { routeInjection } from "./injection-route.ts";
import { routeNadLint } from "./nad-lint-route.ts";
import { NetworkCatalog } from "./network-catalog.ts";
import { NodeBridges } from "./node-bridges.ts";
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
  main: async ({ env, log, signal, health, metrics, restart }) => {
    health.ready("certificate", () => NO_CERTIFICATE);
    const namespace = requireEnv(env, "POD_NAMESPACE");
    const secret = env.TLS_SECRET ?? LINUX_BRIDGE_WEBHOOK;
    await using client = new KubeClient({
      credentials: await loadCredentials(env),
      userAgent: LINUX_BRIDGE_WEBHOOK,
      log,
      metrics,
      onRestored: restart,
    });

    const lint = readNadLint(env);
    const networks = new NetworkCatalog({ client, log, metrics, segments: lint !== "Off" });
    const nodes = new NodeBridges({ client, log, metrics });
    const serving = new SecretTlsSource({ client, namespace, secret, log, metrics });
    const tls = new ProfiledTlsSource({ client, certificates: serving, log, metrics });
    const server = new RouteServer({ port: readPort(env, "HTTPS_PORT") ?? DEFAULT_HTTPS_PORT, tls, log });
    routeInjection(server, { review: podReview({ networks, ...readInjectionSettings(env) }), metrics, log });
    routeNadLint(server, {
      mode: lint,
      nodesWith: (bridge) => nodes.nodesWith(bridge),
      bridgesOn: (bridge) => nodes.bridgesOn(bridge),
      sameSegment: (...asked) => networks.sameSegment(...asked),
      metrics,
      log,
    });
    health.ready("networks", () => networks.synced || "the cache of NetworkAttachmentDefinitions is not synced yet");
    health.ready("certificate", () => tls.current() !== undefined || NO_CERTIFICATE);

    // The watches run until the last requests are answered.
    const answered = new AbortController();
    const port = readPort(env, "METRICS_PORT");
    const following = Promise.all([
      networks.run(answered.signal),
      ...(lint === "Off" ? [] : [nodes.run(answered.signal)]),
      serving.run(answered.signal),
      tls.run(answered.signal),
      serveMetrics({ client, port, tls, metrics, log }, answered.signal),
    ]);
    await server.listen();
    if (!signal.aborted) await once(signal, "abort");
    await server.drain(DRAIN_MS, SETTLE_MS);
    answered.abort();
    await following;
  },
});
