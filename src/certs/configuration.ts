/** What the environment of the process cert-manager says. */

import { parseGoDuration, SHORTEST_INTERVAL, SHORTEST_INTERVAL_MS } from "../api/go-duration.ts";
import type { Intervals } from "./plan.ts";

/** Environment variables of the rotation intervals, as Go durations. All are optional. */
const INTERVAL_DEFAULTS = {
  CA_ROTATE_INTERVAL: "48h0m0s",
  CA_OVERLAP_INTERVAL: "24h0m0s",
  CERT_ROTATE_INTERVAL: "24h0m0s",
  CERT_OVERLAP_INTERVAL: "12h0m0s",
} as const;

type IntervalName = keyof typeof INTERVAL_DEFAULTS;

/** Throws with the name of a wrong variable. The validation of the spec checks their order. */
export function readIntervals(env: Readonly<Partial<Record<IntervalName, string | undefined>>>): Intervals {
  const read = (name: IntervalName): number => {
    const text = env[name] || INTERVAL_DEFAULTS[name];
    const parsed = parseGoDuration(text);
    if (!parsed.ok) throw new Error(`${name}: ${parsed.reason}`);
    if (parsed.durationMs < SHORTEST_INTERVAL_MS) throw new Error(`${name}: ${text} is less than ${SHORTEST_INTERVAL}`);
    return parsed.durationMs;
  };
  return {
    caRotateMs: read("CA_ROTATE_INTERVAL"),
    caOverlapMs: read("CA_OVERLAP_INTERVAL"),
    certRotateMs: read("CERT_ROTATE_INTERVAL"),
    certOverlapMs: read("CERT_OVERLAP_INTERVAL"),
  };
}

/** A webhook configuration whose caBundle is maintained, written `Mutating/name` or `Validating/name`. */
export interface WebhookConfigurationRef {
  readonly kind: "Mutating" | "Validating";
  readonly name: string;
}

/** A list separated by commas. Throws with the wrong entry. */
export function parseWebhookConfigurationRefs(text: string): WebhookConfigurationRef[] {
  return text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
    .map((entry) => {
      const [kind, name, ...rest] = entry.split("/");
      if ((kind !== "Mutating" && kind !== "Validating") || !name || rest.length > 0) {
        throw new Error(`webhook configuration ${JSON.stringify(entry)} is not Mutating/<name> or Validating/<name>`);
      }
      return { kind, name };
    });
}
