import type { MACPool } from "../api/mac-pool.ts";
import { UsageError } from "./command-line.ts";
import type { Command } from "./commands.ts";
import { formatObjects } from "./objects-text.ts";
import { formatFields } from "./table.ts";

/** `kubectl macpool status`: free addresses and problems of each pool. Exit code 1 if there is a problem. */
export const statusCommand: Command = async ({ line, cluster }) => {
  if (line.args.length > 0) throw new UsageError("status takes no argument");
  const pools = await cluster.pools();
  const problems = pools.flatMap(problemsOf);
  const exitCode = problems.length > 0 || pools.length === 0 ? 1 : 0;
  const formatted = formatObjects(pools, line.options.output);
  if (formatted !== undefined) return { stdout: formatted, exitCode };
  if (pools.length === 0) {
    return { stdout: "", stderr: "there is no MACPool: set kubeMacPool in NetworkAddonsConfig cluster", exitCode };
  }
  const verdict = problems.length === 0 ? "No problems.\n" : `${problems.map((text) => `Problem: ${text}\n`).join("")}`;
  return { stdout: `${pools.map(describePool).join("\n")}\n${verdict}`, exitCode };
};

function describePool({ metadata, spec, status }: MACPool): string {
  const {
    capacity = 0,
    used = 0,
    free = 0,
    pending = 0,
    quarantined = 0,
    outOfRange = 0,
    conflicts = 0,
  } = status ?? {};
  const share = capacity === 0 ? "" : ` (${((100 * used) / capacity).toFixed(1)} %)`;
  return `MACPool ${metadata.name}\n${formatFields([
    ["ranges", status?.ranges?.join("\n") || "none in force"],
    ["capacity", String(capacity)],
    ["used", `${used}${share}: ${used - pending - quarantined} bound, ${pending} pending, ${quarantined} quarantined`],
    ["free", String(free)],
    ["out of range", String(outOfRange)],
    ["conflicts", String(conflicts)],
    ["policy", `${spec.conflictPolicy ?? "Deny"}${scopeOf(spec)}, quarantine ${spec.quarantineSeconds ?? 60} s`],
  ])}`;
}

const scopeOf = ({ conflictScope }: MACPool["spec"]): string => (conflictScope === "Network" ? " on each network" : "");

function problemsOf({ metadata, status }: MACPool): string[] {
  const name = `MACPool ${metadata.name}`;
  if (status?.observedGeneration === undefined) return [`${name} has no status: is the MAC pool running?`];
  const conditions = status.conditions ?? [];
  const bad = conditions.filter(({ type, status: value }) =>
    type === "Valid" ? value === "False" : type === "Full" && value === "True",
  );
  const conflicts = status.conflicts ?? 0;
  return [
    ...bad.map(({ message, reason }) => `${name}: ${message ?? reason}`),
    ...(conflicts > 0 ? [`${name}: ${conflicts} addresses have more than one owner: see kubectl macpool list -A`] : []),
  ];
}
