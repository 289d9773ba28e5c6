/**
 * The command line of bridge-marker 0.13 in Go's flag syntax: one dash equals two, and the value follows after `=` or as
 * the next argument. Pure.
 */
export interface Flags {
  readonly nodeName: string;
  /** How often the published resources are compared with the node without an event. */
  readonly updateIntervalMs: number;
  /** How often all links are dumped without a lost event. */
  readonly reconcileIntervalMs: number;
  /** 0: no probes and metrics. */
  readonly healthProbePort: number;
}

export type FlagsResult =
  | { readonly ok: true; readonly flags: Flags }
  | { readonly ok: false; readonly reason: string };

const DEFAULTS: Readonly<Record<string, string>> = {
  "node-name": "",
  "update-interval": "60",
  "reconcile-interval": "10",
  "health-probe-port": "8081",
};

const USAGE =
  "flags: -node-name NAME (required), -update-interval SECONDS (60), -reconcile-interval MINUTES (10), " +
  "-health-probe-port PORT (8081, 0 = off)";

export function parseFlags(args: readonly string[]): FlagsResult {
  const values: Record<string, string> = { ...DEFAULTS };
  for (let index = 0; index < args.length; index++) {
    const match = /^--?([a-z][-a-z]*)(?:=(.*))?$/s.exec(args[index] ?? "");
    const name = match?.[1] ?? "";
    if (match === null || !Object.hasOwn(DEFAULTS, name)) return refused(`unknown flag ${JSON.stringify(args[index])}`);
    const value = match[2] ?? args[++index];
    if (value === undefined) return refused(`flag -${name} needs a value`);
    values[name] = value;
  }
  if (values["node-name"] === "") return refused("flag -node-name is required");
  const updateSeconds = wholeNumber(values["update-interval"], 1, 86_400);
  const reconcileMinutes = wholeNumber(values["reconcile-interval"], 1, 1440);
  const healthProbePort = wholeNumber(values["health-probe-port"], 0, 65_535);
  if (updateSeconds === undefined) return refused("flag -update-interval must be 1 to 86400 seconds");
  if (reconcileMinutes === undefined) return refused("flag -reconcile-interval must be 1 to 1440 minutes");
  if (healthProbePort === undefined) return refused("flag -health-probe-port must be 0 to 65535");
  return {
    ok: true,
    flags: {
      nodeName: values["node-name"] ?? "",
      updateIntervalMs: updateSeconds * 1000,
      reconcileIntervalMs: reconcileMinutes * 60_000,
      healthProbePort,
    },
  };
}

function wholeNumber(text: string | undefined, min: number, max: number): number | undefined {
  const value = /^\d{1,6}$/.test(text ?? "") ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

function refused(reason: string): FlagsResult {
  return { ok: false, reason: `${reason}; ${USAGE}` };
}
