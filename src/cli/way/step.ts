import type { Step } from "../../api/way.ts";

type Name = Step["step"];

export const ok = (step: Name, text: string): Step => ({ step, state: "ok", text });

/** `remedy`: what would make it known. */
export const unknown = (step: Name, text: string, remedy?: string): Step =>
  remedy === undefined ? { step, state: "unknown", text } : { step, state: "unknown", text, remedy };

export const wrong = (step: Name, text: string, remedy: string): Step => ({ step, state: "wrong", text, remedy });

/** Of frames on a bridge without an uplink. */
export const staysOn = (node: string): Step => ok("frames", `no uplink: only VMs of ${node} hear it`);

/** Of what a tenant, a plugin or the scheduler wrote, as much as a line repeats. */
const MAX_QUOTED = 300;

/** In one line. */
export function quoted(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MAX_QUOTED ? `${line.slice(0, MAX_QUOTED - 3)}...` : line;
}

const MAX_NAMED = 5;

/** `node-a, node-b and 3 more`. */
export function named(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  return `${names.slice(0, MAX_NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
