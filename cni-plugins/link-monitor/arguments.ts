/** The command line of the link monitor. */

export interface Arguments {
  readonly resyncSeconds: number;
  /** How often to print that it works, also when nothing happens; absent: never. */
  readonly heartbeatSeconds: number | undefined;
  /** The socket on which to listen for reports of plugins; absent: none. */
  readonly reportSocket: string | undefined;
  /** Whether to print the addresses of links. */
  readonly addresses: boolean;
  /** Whether to print how bridges and their uplinks are set. */
  readonly bridges: boolean;
  /** Whether to print the end of network namespaces that links lead to. */
  readonly namespaces: boolean;
}

export const USAGE =
  "usage: link-monitor [--resync-seconds N] [--heartbeat-seconds N] [--report-socket PATH] [--addresses] [--bridges] [--namespaces]";

const FLAGS = ["--addresses", "--bridges", "--namespaces"];
const OPTIONS = ["--resync-seconds", "--heartbeat-seconds", "--report-socket"];

const DEFAULT_RESYNC_SECONDS = 600;
const MAX_SECONDS = 86_400;

/** `reason` says what is wrong with it. */
export function parseArguments(args: readonly string[]): ({ ok: true } & Arguments) | { ok: false; reason: string } {
  let resyncSeconds = DEFAULT_RESYNC_SECONDS;
  let heartbeatSeconds: number | undefined;
  let reportSocket: string | undefined;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (FLAGS.includes(arg)) continue;
    const [name = "", inline] = arg.split("=", 2);
    if (!OPTIONS.includes(name)) return { ok: false, reason: `unknown argument ${arg}` };
    const value = inline ?? args[++i] ?? "";
    if (name === "--report-socket") {
      if (!value.startsWith("/")) return { ok: false, reason: `${name} must be an absolute path, found "${value}"` };
      reportSocket = value;
      continue;
    }
    const seconds = readSeconds(value);
    if (seconds === undefined) {
      return { ok: false, reason: `${name} must be a whole number from 1 to ${MAX_SECONDS}, found "${value}"` };
    }
    if (name === "--resync-seconds") resyncSeconds = seconds;
    else heartbeatSeconds = seconds;
  }
  const [addresses = false, bridges = false, namespaces = false] = FLAGS.map((flag) => args.includes(flag));
  return { ok: true, resyncSeconds, heartbeatSeconds, reportSocket, addresses, bridges, namespaces };
}

function readSeconds(text: string): number | undefined {
  const seconds = text.trim() === "" ? Number.NaN : Number(text);
  return Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_SECONDS ? seconds : undefined;
}
