import type { OperationReport } from "../../api/node-state.ts";

/** Lines of the executable `link-monitor` that the agent acts on; the others say how links are, which it need not know. */
export type AgentEvent =
  | { readonly event: "report"; readonly report: CountedReport }
  | { readonly event: "gone" }
  | { readonly event: "namespace-gone" }
  | { readonly event: "synced" }
  | { readonly event: "other" };

export type CountedReport = Omit<OperationReport, "network">;

const OTHER_EVENTS = ["link", "lost", "resync", "alive"];

/** Undefined for a line that the link monitor never prints. What is reported to it, which may be anything, is no such line. */
export function parseAgentEvent(line: string): AgentEvent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const { event, plugin, command, code, ms } = (value ?? {}) as Record<string, unknown>;
  if (event === "gone" || event === "namespace-gone" || event === "synced") return { event };
  if (event === "report") {
    if (typeof plugin !== "string" || typeof command !== "string") return { event: "other" };
    if (typeof code !== "number" || typeof ms !== "number") return { event: "other" };
    return { event, report: { plugin, command, code, ms } };
  }
  return typeof event === "string" && OTHER_EVENTS.includes(event) ? { event: "other" } : undefined;
}
