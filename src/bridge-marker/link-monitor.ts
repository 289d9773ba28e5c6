import type { Clock } from "../kube/clock.ts";
import type { Log } from "../kube/log.ts";
import { runLineProcess } from "../kube/process/line-process.ts";
import { type LinkEvent, parseLinkEvent } from "./link-event.ts";

export interface LinkMonitorOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly onEvent: (event: LinkEvent) => void;
  /** Called before each start. A full dump follows. */
  readonly onStart: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Keeps the executable `link-monitor` running and passes its events on, until the signal aborts. */
export function runLinkMonitor(options: LinkMonitorOptions, signal: AbortSignal): Promise<void> {
  const { command, args, onEvent, onStart, clock, log } = options;
  const onLine = (line: string) => {
    const event = parseLinkEvent(line);
    if (event === undefined) return "refused";
    onEvent(event);
    return event.event === "synced" ? "settled" : "taken";
  };
  return runLineProcess({ name: "the link monitor", command, args, onLine, onStart, clock, log }, signal);
}
