import type { Finding } from "./backends/pool-backend.ts";
import type { CommandInput } from "./command.ts";
import { pastable } from "./pasted-commands.ts";
import { spanInWords } from "./quantities.ts";
import { fitted, painted, wrapped } from "./terminal.ts";

/** What the doctor finds, in words. */

/** What it is about, what is wrong, and what to do. */
export function describeFinding(finding: Finding, { line, terminal, nowMs }: CommandInput): string {
  const { code, mac, pool, owner, network, bridge, message } = finding;
  const advice = pastable(finding.advice, line.options);
  const what = [
    mac,
    pool === undefined ? undefined : `MACPool ${pool}`,
    owner === undefined ? undefined : `${owner.kind} ${owner.namespace}/${owner.name}`,
    network === undefined ? undefined : `network ${network.namespace}/${network.name}`,
    bridge === undefined ? undefined : `bridge ${bridge}`,
  ].filter((text) => text !== undefined);
  const head = [painted(terminal, "bold", code), ...what].join("  ");
  const age = since(finding.since, nowMs, " (for ", ")");
  return `\n${fitted(terminal, head + age, 0)}${wrapped(terminal, message, 2)}${wrapped(terminal, `-> ${advice}`, 2)}`;
}

/** For how long; empty where that is not known. */
export function since(time: string | undefined, nowMs: number, before: string, after: string): string {
  return time === undefined ? "" : `${before}${spanInWords(nowMs - Date.parse(time))}${after}`;
}
