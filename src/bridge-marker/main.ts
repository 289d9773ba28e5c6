/**
 * The process `bridge-marker`, one on each node. It publishes the node's Linux bridges as node resources, so that pods
 * are scheduled only to nodes with their bridge. It reports to MAC pools the addresses of the node's own interfaces, and those
 * of pools that are seen beyond its uplinks; to the lint of networks, how its bridges are set. The executable `link-monitor`
 * gives link events and what bridges learn, `node-links.ts` keeps what matters, `node-publisher.ts` and
 * `node-macs-publisher.ts` write.
 * A product: imports `src/api`, `src/kube`, `src/certs` and `src/links`, nothing else of ours.
 *
 * At its stop it removes its resources only if the component was removed (`src/api/component-state.ts`).
 */
import { join } from "node:path";
import { decideAtShutdown, readLiveConfig } from "../api/component-state.ts";
import { NETWORK_ADDONS_CONFIGS } from "../api/kinds.ts";
import type { MacRange } from "../api/mac-range.ts";
import { NETWORK_ADDONS_CONFIG_NAME } from "../api/names.ts";
import { MONITOR_HEARTBEAT_SECONDS } from "../api/node-state.ts";
import { serveNodeMetrics } from "../certs/metrics-endpoint.ts";
import { KubeClient } from "../kube/client/client.ts";
import { systemClock } from "../kube/clock.ts";
import { loadCredentials } from "../kube/credentials/credentials.ts";
import { ProcessInput } from "../kube/process/line-process.ts";
import { readPort, runProcess } from "../kube/process/process.ts";
import type { LinkEvent } from "../links/link-event.ts";
import { runLinkMonitor } from "../links/link-monitor.ts";
import { parseFlags } from "./flags.ts";
import { checkLiveness } from "./liveness.ts";
import { markerMetrics } from "./marker-metrics.ts";
import { NodeLinks } from "./node-links.ts";
import { NodeMacsPublisher } from "./node-macs-publisher.ts";
import { NodePublisher } from "./node-publisher.ts";
import { followPoolRanges, stationQuery } from "./pool-ranges.ts";

/** After so long without a complete list of links, or without an answer of the API server, the process is not alive. */
const MAX_UNSYNCED_SECONDS = 60;
const MAX_UNANSWERED_SECONDS = 300;
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
  healthPort: flags.healthProbePort || undefined,
  healthHost: flags.healthProbeHost,
  hostNetwork: true,
  main: async ({ env, log, signal, health, metrics, restart }) => {
    health.ready("published", () => "starting");
    await using client = new KubeClient({
      credentials: await loadCredentials(env),
      userAgent: "bridge-marker",
      log,
      metrics,
      onRestored: restart,
    });
    const links = new NodeLinks(flags.selection);
    const counted = markerMetrics(metrics, links);
    const reports = new NodeMacsPublisher({
      client,
      nodeName: flags.nodeName,
      links,
      refreshMs: flags.reconcileIntervalMs,
      log,
      metrics,
    });
    const publisher = new NodePublisher({
      client,
      nodeName: flags.nodeName,
      links,
      updateIntervalMs: flags.updateIntervalMs,
      log,
      metrics,
      observer: counted,
      onNode: (uid) => reports.nodeSeen(uid),
      onListed: () => reports.forget(),
    });
    counted.watchPending(publisher);
    health.ready("published", () => publisher.readiness);
    checkLiveness(
      health,
      { links, publisher, clock: systemClock },
      {
        maxUnsyncedMs: 1000 * Number(env.MAX_UNSYNCED_SECONDS ?? MAX_UNSYNCED_SECONDS),
        maxUnansweredMs: 1000 * Number(env.MAX_UNANSWERED_SECONDS ?? MAX_UNANSWERED_SECONDS),
      },
    );

    const input = new ProcessInput();
    const monitor = {
      command: env.LINK_MONITOR ?? join(import.meta.dirname, ...BUILT_MONITOR),
      args: ["--bridges", "--resync-seconds", String(flags.reconcileIntervalMs / 1000)],
      input,
      heartbeatSeconds: Number(env.LINK_MONITOR_HEARTBEAT_SECONDS ?? MONITOR_HEARTBEAT_SECONDS),
      onStart: () => {
        links.restart();
        counted.monitorStarted();
      },
      onEvent: (event: LinkEvent) => {
        if (event.event === "stations") {
          links.setStations(event, systemClock.now());
          reports.changed();
        }
        if (!links.apply(event)) return;
        publisher.changed();
        reports.changed();
      },
      clock: systemClock,
      log,
    };
    const ranges = {
      client,
      refreshMs: flags.reconcileIntervalMs,
      onRanges: (found: readonly MacRange[]) => input.set(stationQuery(found, flags.nodeName)),
      clock: systemClock,
      log,
    };
    const endpoint = { client, port: readPort(env, "METRICS_PORT"), name: "bridge-marker", metrics, log };
    await Promise.all([
      runLinkMonitor(monitor, signal),
      publisher.run(signal),
      reports.run(signal),
      followPoolRanges(ranges, signal),
      serveNodeMetrics(endpoint, signal),
    ]);

    const live = await readLiveConfig(() =>
      client.get(NETWORK_ADDONS_CONFIGS, { name: NETWORK_ADDONS_CONFIG_NAME }, { timeoutMs: LIVE_READ_TIMEOUT_MS }),
    );
    const decision = decideAtShutdown("linuxBridge", live);
    if (decision.action === "keep") {
      log.info(`the node's resources stay: ${decision.reason}`);
      return;
    }
    const ending = AbortSignal.timeout(WITHDRAW_TIMEOUT_MS);
    const [removed] = await Promise.all([publisher.withdraw(ending), reports.withdraw(ending)]);
    log.info({ removed }, `removed the node's resources: ${decision.reason}`);
  },
});
