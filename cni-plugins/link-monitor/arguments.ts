/** The command line of the link monitor. */

export interface Arguments {
  readonly resyncSeconds: number;
  /** The socket on which to listen for reports of plugins; absent: none. */
  readonly reportSocket: string | undefined;
  /** Whether to print the addresses of links. */
  readonly addresses: boolean;
  /** Whether to print the end of network namespaces that links lead to. */
  readonly namespaces: boolean;
}

export const USAGE = "usage: link-monitor [--resync-seconds N] [--report-socket PATH] [--addresses] [--namespaces]";

const FLAGS = ["--addresses", "--namespaces"];

const DEFAULT_RESYNC_SECONDS = 600;
const MAX_RESYNC_SECONDS = 86_400;

/** `reason` says what is wrong with it. */
export function parseArguments(args: readonly string[]): ({ ok: true } & Arguments) | { ok: false; reason: string } {
  let resyncSeconds = DEFAULT_RESYNC_SECONDS;
  let reportSocket: string | undefined;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (FLAGS.includes(arg)) continue;
    const [name, inline] = arg.split("=", 2);
    if (name !== "--resync-seconds" && name !== "--report-socket") {
      return { ok: false, reason: `unknown argument ${arg}` };
    }
    const value = inline ?? args[++i] ?? "";
    if (name === "--report-socket") {
      if (!value.startsWith("/")) return { ok: false, reason: `${name} must be an absolute path, found "${value}"` };
      reportSocket = value;
    } else {
      const seconds = readSeconds(value);
      if (seconds === undefined) {
        const expected = `a whole number from 1 to ${MAX_RESYNC_SECONDS}`;
        return { ok: false, reason: `${name} must be ${expected}, found "${value}"` };
      }
      resyncSeconds = seconds;
    }
  }
  const [addresses = false, namespaces = false] = FLAGS.map((flag) => args.includes(flag));
  return { ok: true, resyncSeconds, reportSocket, addresses, namespaces };
}

function readSeconds(text: string): number | undefined {
  const seconds = text.trim() === "" ? Number.NaN : Number(text);
  return Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_RESYNC_SECONDS ? seconds : undefined;
}
