/** The command line of the link monitor. */

export interface Arguments {
  readonly resyncSeconds: number;
}

export const USAGE = "usage: link-monitor [--resync-seconds N]";

const DEFAULT_RESYNC_SECONDS = 600;
const MAX_RESYNC_SECONDS = 86_400;

/** `reason` says what is wrong with it. */
export function parseArguments(args: readonly string[]): ({ ok: true } & Arguments) | { ok: false; reason: string } {
  let resyncSeconds = DEFAULT_RESYNC_SECONDS;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    const [name, inline] = arg.split("=", 2);
    if (name !== "--resync-seconds") return { ok: false, reason: `unknown argument ${arg}` };
    const value = inline ?? args[++i] ?? "";
    resyncSeconds = Number(value);
    if (
      value.trim() === "" ||
      !Number.isInteger(resyncSeconds) ||
      resyncSeconds < 1 ||
      resyncSeconds > MAX_RESYNC_SECONDS
    ) {
      return {
        ok: false,
        reason: `--resync-seconds must be a whole number from 1 to ${MAX_RESYNC_SECONDS}, found "${value}"`,
      };
    }
  }
  return { ok: true, resyncSeconds };
}
