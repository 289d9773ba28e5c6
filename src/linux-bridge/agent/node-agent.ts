import { type FSWatcher, watch } from "node:fs";
import { mkdir, rm, rmdir } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Registry } from "prom-client";
import { NETNS_DIRECTORIES } from "../../api/netns-directories.ts";
import {
  ATTACHMENT_RECORD_DIRECTORY,
  MONITOR_HEARTBEAT_SECONDS,
  NODE_STATE_DIRECTORY,
  REPORT_SOCKET,
} from "../../api/node-state.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Log } from "../../kube/log.ts";
import type { LinkEvent } from "../../links/link-event.ts";
import { runLinkMonitor } from "../../links/link-monitor.ts";
import { agentMetrics } from "./agent-metrics.ts";
import type { NodeDirectories } from "./attachments.ts";
import { listLinks } from "./host-links.ts";
import { Reaper } from "./reaper.ts";
import { namesIn } from "./recorded-attachments.ts";
import { UnpluggedAttachments } from "./unplugged.ts";

/**
 * The node agent counts what the plugins report, and removes attachments that the runtime forgot. The plugins neither need
 * it nor wait for it.
 */

/**
 * Where libcni keeps what ADDs answered: in `results` of its cache directory. Runtimes leave that at the default, multus
 * has one of its own, which is the default of its `cniDir`.
 */
const RESULT_DIRECTORIES = ["/var/lib/cni/results", "/var/lib/cni/multus/results"];

/** Directories of the node that are mounted into the pod for the agent. */
export const MOUNTED_DIRECTORIES = ["/run/cni", ...NETNS_DIRECTORIES.map(({ directory }) => directory), "/var/lib/cni"];

/** Where the directories of a node are inside the pod. */
export const NODE_DIRECTORIES: NodeDirectories = {
  recordDirectory: ATTACHMENT_RECORD_DIRECTORY,
  resultDirectories: RESULT_DIRECTORIES,
  netnsDirectories: NETNS_DIRECTORIES,
};

export interface NodeAgentOptions {
  readonly pluginDirectory: string;
  readonly plugins: readonly string[];
  readonly cniPath: string;
  readonly metrics: Registry;
  /** Records a warning event on the Node. */
  readonly warnOnNode: (reason: string, message: string) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Until the signal aborts. Gives up with a sentence in the log where its directory can't be used. */
export async function runNodeAgent(options: NodeAgentOptions, signal: AbortSignal): Promise<void> {
  const { pluginDirectory, plugins, cniPath, warnOnNode, clock, log } = options;
  const counted = agentMetrics(options.metrics, { ...NODE_DIRECTORIES, listLinks });
  try {
    await mkdir(NODE_STATE_DIRECTORY, { recursive: true, mode: 0o700 });
  } catch (error) {
    log.error({ err: error }, `${NODE_STATE_DIRECTORY} can't be made: this node's leftovers of attachments stay`);
    return;
  }
  const reaper = new Reaper({
    ...NODE_DIRECTORIES,
    listLinks,
    pluginDirectory,
    plugins,
    cniPath,
    onReaped: counted.reaped,
    clock,
    log,
    signal,
  });
  counted.countLeftovers(() => reaper.failing);
  const unplugged = new UnpluggedAttachments({
    listLinks,
    resultDirectories: RESULT_DIRECTORIES,
    report: (message) => warnOnNode("InterfaceLeftBehind", message),
    clock,
    log,
  });
  counted.countUnplugged(() => unplugged.count);
  const onEvent = (event: LinkEvent): void => {
    if (event.event === "report" && event.report !== undefined) counted.reported(event.report);
    if (event.event === "gone" || event.event === "namespace-gone") reaper.changed();
  };
  const monitor = {
    command: join(pluginDirectory, "link-monitor"),
    args: ["--namespaces", "--report-socket", REPORT_SOCKET],
    heartbeatSeconds: MONITOR_HEARTBEAT_SECONDS,
    onEvent,
    onStart: () => {
      counted.monitorStarted();
      reaper.changed();
    },
    clock,
    log,
  };
  const watches = NETNS_DIRECTORIES.map(({ directory }) => watchNames(directory, () => reaper.changed(), log));
  try {
    await Promise.all([runLinkMonitor(monitor, signal), reaper.run(), unplugged.run(signal)]);
  } finally {
    for (const one of watches) one?.close();
  }
}

/** What `tuning` keeps, for networks without a `dataDir`. */
const TUNING_STATE_DIRECTORY = "/run/cni/tuning";

/** Removes the directories in which plugins and agent keep their state, where they are empty. */
export async function removeEmptyState(directory = NODE_STATE_DIRECTORY): Promise<void> {
  await rm(join(directory, basename(REPORT_SOCKET)), { force: true });
  const names = await namesIn(directory);
  for (const path of [...names.map((name) => join(directory, name)), directory, TUNING_STATE_DIRECTORY])
    await rmdir(path).catch(() => undefined);
}

/** A namespace that something still holds loses its name only, and no link. */
function watchNames(directory: string, onChange: () => void, log: Log): FSWatcher | undefined {
  const unwatched = (error: unknown): void => log.warn({ err: error }, `${directory} can't be watched`);
  try {
    return watch(directory, { persistent: false }, onChange).on("error", unwatched);
  } catch (error) {
    unwatched(error);
    return undefined;
  }
}
