/**
 * The process beside multus' daemon in the pods of the DaemonSet `multus`, a sidecar that ends after it. The daemon's image
 * has no program that a probe or a hook could run. While it runs, the pod is ready when the daemon answers on its socket and
 * its configuration is in place. Told to stop, it removes that configuration if the daemon did not, and what else is left of
 * multus on the node if the component itself was removed (`src/api/component-state.ts`).
 * A product: imports `src/api` and `src/kube`, nothing else of ours.
 */
import type { IncomingMessage } from "node:http";
import { decideAtShutdown, readLiveConfig } from "../api/component-state.ts";
import { NETWORK_ADDONS_CONFIGS } from "../api/kinds.ts";
import { NETWORK_ADDONS_CONFIG_NAME } from "../api/names.ts";
import { KubeClient } from "../kube/client/client.ts";
import { systemClock } from "../kube/clock.ts";
import { loadCredentials } from "../kube/credentials/credentials.ts";
import { readPort, requireEnv, runProcess } from "../kube/process/process.ts";
import { isConfigured, removeConfig, removeLeftovers } from "./leftovers.ts";

/** `import` reads every export of a module, and node:http's WebSocket loads Node's own undici: 3 MB in every process. */
const { get } = process.getBuiltinModule("node:http");

const ASK_INTERVAL_MS = 2_000;
const ASK_TIMEOUT_MS = 5_000;
const LIVE_READ_TIMEOUT_MS = 8_000;

await runProcess({
  name: "multus-sidecar",
  env: process.env,
  healthPort: readPort(process.env, "HEALTH_PORT") || undefined,
  healthHost: process.env.HEALTH_HOST || undefined,
  hostNetwork: true,
  main: async ({ env, log, signal, health, metrics }) => {
    await using client = new KubeClient({
      credentials: await loadCredentials(env),
      userAgent: "multus-sidecar",
      log,
      metrics,
    });
    const socket = requireEnv(env, "MULTUS_SOCKET");
    const configDirectory = requireEnv(env, "CNI_CONFIG_DIR");
    const leftovers = {
      binDirectories: requireEnv(env, "CNI_PATH").split(":"),
      resultDirectory: requireEnv(env, "CNI_RESULT_DIR"),
      crioSocket: requireEnv(env, "CRIO_SOCKET"),
    };
    let state: true | string = "not asked yet";
    health.ready("multus", () => state);
    while (!signal.aborted) {
      const answer = await askDaemon(socket);
      const next: true | string = answer === true ? await isConfigured(configDirectory) : answer;
      if (next !== state) log.info({ state: next }, next === true ? "multus is ready" : "multus is not ready");
      state = next;
      await systemClock.sleep(ASK_INTERVAL_MS, signal).catch(() => {});
    }

    if ((await askDaemon(socket)) === true) {
      log.info("another multus-daemon answers on this node: everything stays");
      return;
    }
    if (await removeConfig(configDirectory)) log.info("removed the configuration that multus-daemon left");
    const live = await readLiveConfig(() =>
      client.get(NETWORK_ADDONS_CONFIGS, { name: NETWORK_ADDONS_CONFIG_NAME }, { timeoutMs: LIVE_READ_TIMEOUT_MS }),
    );
    const { action, reason } = decideAtShutdown("multus", live);
    if (action === "keep") {
      log.info(`multus' executables stay: ${reason}`);
      return;
    }
    const removed = await removeLeftovers(leftovers);
    log.info({ removed }, `removed what multus left on the node: ${reason}`);
  },
});

/** True if a daemon answers on the socket, or why none does. */
function askDaemon(socketPath: string): Promise<true | string> {
  const { promise, resolve } = Promise.withResolvers<true | string>();
  const refused = (what: string): void => resolve(`multus-daemon does not answer on its socket: ${what}`);
  const request = get(
    { socketPath, path: "/healthz", timeout: ASK_TIMEOUT_MS, agent: false },
    (answer: IncomingMessage) => {
      answer.resume();
      if (answer.statusCode === 200) resolve(true);
      else refused(`status ${answer.statusCode}`);
    },
  );
  request.on("timeout", () => request.destroy(new Error(`nothing within ${ASK_TIMEOUT_MS} ms`)));
  request.on("error", (error) => refused(error.message));
  return promise;
}
