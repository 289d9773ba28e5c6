import { MARKER_PATTERN } from "../api/bridge-pattern.ts";
import type { BridgeSelection } from "./bridge-resources.ts";

/**
 * The command line of bridge-marker 0.13 and a few flags more, in Go's flag syntax: one dash equals two, and the value
 * follows after `=` or as the next argument; a flag that is true or false needs no value. Pure.
 */
interface Flags {
  readonly nodeName: string;
  /** How often the published resources are compared with the node without an event. */
  readonly updateIntervalMs: number;
  /** How often all links are dumped without a lost event. */
  readonly reconcileIntervalMs: number;
  /** 0: no probes. */
  readonly healthProbePort: number;
  /** Address that the probes' port is bound to; undefined for all addresses of the node. */
  readonly healthProbeHost: string | undefined;
  readonly selection: BridgeSelection;
}

export type FlagsResult =
  | { readonly ok: true; readonly flags: Flags }
  | { readonly ok: false; readonly reason: string };

const DEFAULTS: Readonly<Record<string, string>> = {
  "node-name": "",
  "update-interval": "60",
  "reconcile-interval": "10",
  "health-probe-port": "8081",
  "health-probe-host": "",
  include: "",
  exclude: "",
  "only-with-ports": "false",
};

const USAGE =
  "flags: -node-name NAME (required), -update-interval SECONDS (60), -reconcile-interval MINUTES (10), " +
  "-health-probe-port PORT (8081, 0 = off), -health-probe-host ADDRESS (all addresses), -include PATTERN,... (all bridges), " +
  "-exclude PATTERN,... (none), -only-with-ports (false); a pattern is a name with the wildcards * and ?";

export function parseFlags(args: readonly string[]): FlagsResult {
  const values: Record<string, string> = { ...DEFAULTS };
  for (let index = 0; index < args.length; index++) {
    const match = /^--?([a-z][-a-z]*)(?:=(.*))?$/s.exec(args[index] ?? "");
    const name = match?.[1] ?? "";
    if (match === null || !Object.hasOwn(DEFAULTS, name)) return refused(`unknown flag ${JSON.stringify(args[index])}`);
    const value = match[2] ?? (name === "only-with-ports" ? "true" : args[++index]);
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
  const patterns = { include: listOf(values.include), exclude: listOf(values.exclude) };
  for (const [name, list] of Object.entries(patterns)) {
    const wrong = list.find((pattern) => !new RegExp(MARKER_PATTERN).test(pattern));
    if (wrong !== undefined) return refused(`flag -${name}: ${JSON.stringify(wrong)} is no pattern of names`);
  }
  const onlyWithPorts = values["only-with-ports"];
  if (onlyWithPorts !== "true" && onlyWithPorts !== "false") return refused("flag -only-with-ports is true or false");
  return {
    ok: true,
    flags: {
      nodeName: values["node-name"] ?? "",
      updateIntervalMs: updateSeconds * 1000,
      reconcileIntervalMs: reconcileMinutes * 60_000,
      healthProbePort,
      healthProbeHost: values["health-probe-host"] || undefined,
      selection: { ...patterns, onlyWithPorts: onlyWithPorts === "true" },
    },
  };
}

function listOf(text = ""): string[] {
  return text === "" ? [] : text.split(",");
}

function wholeNumber(text: string | undefined, min: number, max: number): number | undefined {
  const value = /^\d{1,6}$/.test(text ?? "") ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

function refused(reason: string): FlagsResult {
  return { ok: false, reason: `${reason}; ${USAGE}` };
}
