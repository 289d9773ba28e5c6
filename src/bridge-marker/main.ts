/**
 * The process `bridge-marker`, one on each node. It publishes the node's Linux bridges as node resources, so that pods
 * are scheduled only to nodes with their bridge. The executable `link-monitor` gives link events, `bridge-table.ts` keeps
 * the bridges, `node-publisher.ts` writes. A product: imports `src/api`, `src/kube` and `src/certs`, nothing else of ours.
 *
 * At its stop it removes its resources only if the component was removed (`src/api/component-state.ts`).
 */
import { join } from "node:path";
import { decideAtShutdown, readLiveConfig } from "../api/component-state.ts";
import { NETWORK_ADDONS_CONFIGS } from "../api/kinds.ts";
import { NETWORK_ADDONS_CONFIG_NAME } from "../api/names.ts";
import { serveNodeMetrics } from "../certs/metrics-endpoint.ts";
import { KubeClient } from "../kube/client/client.ts";
import { loadCredentials } from "../kube/client/credentials.ts";
import { systemClock } from "../kube/clock.ts";
import { readPort, runProcess } from "../kube/process/process.ts";
import { BridgeTable } from "./bridge-table.ts";
import { parseFlags } from "./flags.ts";
import { runLinkMonitor } from "./link-monitor.ts";
import { markerMetrics } from "./marker-metrics.ts";
import { NodePublisher } from "./node-publisher.ts";

/** After so long without a complete list of links the process is not alive. */
const MAX_UNSYNCED_MS = 60_000;
/** The same for changes that can't be published. */
const MAX_PENDING_MS = 5 * 60_000;
const NOT_PUBLISHED = "the node's bridges have not been published yet";
const LIVE_READ_TIMEOUT_MS = 8000;
const WITHDRAW_TIMEOUT_MS = 8000;

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };
const BUILT_MONITOR = ["..", "..", "dist", "cni", ARCHITECTURES[process.arch] ?? process.arch, "link-monitor"];

const parsed = parseFlags(process.argv.slice(2));
if (!parsed.ok) {
  process.stderr.write(`bridge-marker: ${parsed.reason}\n`);
  process.exit(2);
}
const { flags } = parsed;

await runProcess({
  name: "bridge-marker",
  env: process.env,
  healthPort: flags.healthProbePort === 0 ? undefined : flags.healthProbePort,
  main: async ({ env, log, signal, health, metrics }) => {
    health.ready("published", () => NOT_PUBLISHED);
    await using client = new KubeClient({
      credentials: await loadCredentials(env),
      userAgent: "bridge-marker",
      log,
      metrics,
    });
    const bridges = new BridgeTable();
    const counted = markerMetrics(metrics, bridges);
    const publisher = new NodePublisher({
      client,
      nodeName: flags.nodeName,
      bridges,
      updateIntervalMs: flags.updateIntervalMs,
      log,
      metrics,
      onPatch: counted.patched,
    });
    let syncedAtMs = systemClock.monotonicMs();
    health.ready("published", () => publisher.published || NOT_PUBLISHED);
    health.alive("links", () => {
      if (bridges.synced) syncedAtMs = systemClock.monotonicMs();
      return systemClock.monotonicMs() - syncedAtMs < MAX_UNSYNCED_MS || "the list of links is not complete";
    });
    health.alive("api", () => publisher.pendingMs < MAX_PENDING_MS || "the node's status can't be written");

    const monitor = {
      command: env.LINK_MONITOR ?? join(import.meta.dirname, ...BUILT_MONITOR),
      args: ["--resync-seconds", String(flags.reconcileIntervalMs / 1000)],
      onStart: () => {
        bridges.restart();
        counted.monitorStarted();
      },
      onEvent: (event: Parameters<BridgeTable["apply"]>[0]) => {
        if (bridges.apply(event)) publisher.changed();
      },
      clock: systemClock,
      log,
    };
    const endpoint = { client, port: readPort(env, "METRICS_PORT"), name: "bridge-marker", metrics, log };
    await Promise.all([runLinkMonitor(monitor, signal), publisher.run(signal), serveNodeMetrics(endpoint, signal)]);

    const live = await readLiveConfig(() =>
      client.get(NETWORK_ADDONS_CONFIGS, { name: NETWORK_ADDONS_CONFIG_NAME }, { timeoutMs: LIVE_READ_TIMEOUT_MS }),
    );
    const decision = decideAtShutdown("linuxBridge", live);
    if (decision.action === "keep") {
      log.info(`the node's resources stay: ${decision.reason}`);
      return;
    }
    const removed = await publisher.withdraw(AbortSignal.timeout(WITHDRAW_TIMEOUT_MS));
    log.info({ removed }, `removed the node's resources: ${decision.reason}`);
  },
});
