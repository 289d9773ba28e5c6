import { MAX_MONITOR_SILENCE_HEARTBEATS } from "../api/node-state.ts";
import type { Clock } from "../kube/clock.ts";
import type { Log } from "../kube/log.ts";
import { type ProcessInput, runLineProcess } from "../kube/process/line-process.ts";
import { type LinkEvent, parseLinkEvent } from "./link-event.ts";

export interface LinkMonitorOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly input?: ProcessInput;
  readonly onEvent: (event: LinkEvent) => void;
  /** Called before each start. A full dump follows. */
  readonly onStart: () => void;
  /** One that prints nothing for three heartbeats is replaced. */
  readonly heartbeatSeconds: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Keeps the executable `link-monitor` running and passes its events on, until the signal aborts. */
export function runLinkMonitor(options: LinkMonitorOptions, signal: AbortSignal): Promise<void> {
  const { command, onEvent, onStart, heartbeatSeconds, clock, log } = options;
  const args = [...options.args, "--heartbeat-seconds", String(heartbeatSeconds)];
  const maxSilenceMs = MAX_MONITOR_SILENCE_HEARTBEATS * heartbeatSeconds * 1000;
  const onLine = (line: string) => {
    const event = parseLinkEvent(line);
    if (event === undefined) return "refused";
    onEvent(event);
    return event.event === "synced" ? "settled" : "taken";
  };
  const told = options.input && { input: options.input };
  const process = { name: "the link monitor", command, args, ...told, onLine, onStart, maxSilenceMs, clock, log };
  return runLineProcess(process, signal);
}
