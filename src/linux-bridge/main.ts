/**
 * The process of the DaemonSet `kube-cni-linux-bridge-plugin`, one on each node. Its installer keeps the CNI plugins in the
 * host's CNI directory; its node agent counts what they do and removes attachments that the runtime forgot. It is never in the
 * path of an attachment: plugins work the same when it is down.
 * A product: imports `src/api`, `src/kube` and `src/certs`, nothing else of ours.
 *
 * Told to stop, it removes its files only if the component itself was removed (`src/api/component-state.ts`) and no
 * attachment needs them any more.
 */
import { join } from "node:path";
import { decideAtShutdown, type RawConfig, readLiveConfig } from "../api/component-state.ts";
import { FORMER_CNI_BIN_DIRS, parseFormerCniBinDirs } from "../api/former-cni-bin-dirs.ts";
import { apiVersionOf, NETWORK_ADDONS_CONFIGS } from "../api/kinds.ts";
import { NETWORK_ADDONS_CONFIG_NAME } from "../api/names.ts";
import { serveNodeMetrics } from "../certs/metrics-endpoint.ts";
import { KubeClient } from "../kube/client/client.ts";
import { systemClock } from "../kube/clock.ts";
import { loadCredentials } from "../kube/credentials/credentials.ts";
import { EventRecorder } from "../kube/events/event-recorder.ts";
import { readPort, requireEnv, runProcess } from "../kube/process/process.ts";
import { attachmentsThatNeed } from "./agent/attachments.ts";
import { listLinks } from "./agent/host-links.ts";
import { MOUNTED_DIRECTORIES, NODE_DIRECTORIES, removeEmptyState, runNodeAgent } from "./agent/node-agent.ts";
import { passOnChange } from "./installer/directory-watch.ts";
import { Installer, shippedPlugins } from "./installer/installer.ts";
import { installerMetrics } from "./installer/installer-metrics.ts";
import { cleanFormerDirectory, removePlugins } from "./installer/removal.ts";

const EXECUTABLES = ["bridge", "tuning"] as const;
const LIVE_READ_TIMEOUT_MS = 8000;
const MAX_NAMED_ATTACHMENTS = 20;

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };
const BUILT_PLUGINS = ["..", "..", "dist", "cni", ARCHITECTURES[process.arch] ?? process.arch];

await runProcess({
  name: "linux-bridge",
  env: process.env,
  healthPort: readPort(process.env, "HEALTH_PORT") || undefined,
  healthHost: process.env.HEALTH_HOST || undefined,
  hostNetwork: true,
  main: async ({ env, log, signal, health, metrics }) => {
    health.ready("installed", () => "not installed yet");
    const directory = requireEnv(env, "CNI_BIN_DIR");
    const directoryOnNode = env.CNI_BIN_DIR_ON_NODE || directory;
    const pluginDirectory = env.PLUGIN_DIR ?? join(import.meta.dirname, ...BUILT_PLUGINS);
    const plugins = await shippedPlugins(pluginDirectory, EXECUTABLES);
    if (plugins.length === 0) {
      throw new Error(`no CNI plugin in ${pluginDirectory} (PLUGIN_DIR): the image is not complete`);
    }
    await using client = new KubeClient({
      credentials: await loadCredentials(env),
      userAgent: "linux-bridge",
      log,
      metrics,
    });
    const nodeName = env.NODE_NAME ?? "";
    const recorder = new EventRecorder({
      client,
      controller: `${NETWORK_ADDONS_CONFIGS.group}/linux-bridge`,
      instance: nodeName,
    });
    // `kubectl describe node` looks for the name in place of the UID, as kubelet's events have it.
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: nodeName, uid: nodeName } };
    const former = parseFormerCniBinDirs(env[FORMER_CNI_BIN_DIRS]);
    const replaceForeign = env.REPLACE_FOREIGN_PLUGINS === "true";
    const installer = new Installer({
      directory,
      directoryOnNode,
      pluginDirectory,
      plugins,
      replaceForeign,
      clock: systemClock,
      log,
    });
    installerMetrics(metrics, installer);
    let formerAreClean = false;
    health.ready("installed", () => (installer.ready && formerAreClean ? inventory(installer) : describe(installer)));

    const agent = {
      pluginDirectory,
      plugins: plugins.map(({ executable }) => executable),
      cniPath: directory,
      metrics,
      warnOnNode: (reason: string, message: string) => recorder.event(node, "Warning", reason, message),
      clock: systemClock,
      log,
    };
    const watched = { directory, otherDirectories: MOUNTED_DIRECTORIES, clock: systemClock, log };
    const pass = async (): Promise<void> => {
      await installer.repair();
      if (!installer.ready || formerAreClean) return;
      for (const one of former) await cleanFormerDirectory(one, directory, log);
      formerAreClean = true;
    };
    const endpoint = { client, port: readPort(env, "METRICS_PORT"), name: "linux-bridge", metrics, log };
    await Promise.all([
      passOnChange(watched, pass, signal),
      runNodeAgent(agent, signal),
      serveNodeMetrics(endpoint, signal),
    ]);

    const live = await readLiveConfig(() =>
      client.get(NETWORK_ADDONS_CONFIGS, { name: NETWORK_ADDONS_CONFIG_NAME }, { timeoutMs: LIVE_READ_TIMEOUT_MS }),
    );
    const decision = decideAtShutdown("linuxBridge", live);
    if (decision.action === "keep") {
      log.info(`the CNI plugins stay: ${decision.reason}`);
      return;
    }
    const ours = installer.states.filter(({ state }) => state === "installed").map(({ name }) => name);
    const attached = await attachmentsThatNeed(new Set(ours), await listLinks(), NODE_DIRECTORIES);
    if (attached.length > 0) {
      const message = `the CNI plugins stay in ${directoryOnNode} of node ${nodeName}: pods there have networks of these plugins, and need them to stop`;
      log.warn({ attachments: attached.slice(0, MAX_NAMED_ATTACHMENTS), count: attached.length }, message);
      if (live.kind === "found") await recordKept(recorder, live.config, message);
      return;
    }
    const removed = await removePlugins(directory);
    for (const one of former) await cleanFormerDirectory(one, directory, log);
    await removeEmptyState();
    log.info({ removed }, `removed the CNI plugins: ${decision.reason}`);
  },
});

/** An event on the configuration says where files stay. */
async function recordKept(recorder: EventRecorder, config: RawConfig, message: string): Promise<void> {
  const regarding = { ...config, apiVersion: apiVersionOf(NETWORK_ADDONS_CONFIGS), kind: NETWORK_ADDONS_CONFIGS.kind };
  recorder.event(regarding, "Warning", "PluginsStay", message);
  await recorder.flush();
}

/** What stands under each name. */
function inventory({ states }: Installer): Record<string, string> {
  const entries = states.map(({ name, state, version, sha256, detail }) => [
    name,
    state === "foreign" ? `not ours: ${detail}` : `${version}, sha256 ${sha256}`,
  ]);
  return Object.fromEntries(entries);
}

function describe(installer: Installer): string {
  const failed = installer.states.filter(({ state }) => state === "failed");
  return failed.map(({ name, detail }) => `${name}: ${detail}`).join("; ") || "not installed yet";
}
