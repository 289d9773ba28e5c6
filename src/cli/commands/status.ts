import type { PoolView } from "../../mac-pool/inspection/rest/views.ts";
import type { CommandSpec } from "../command.ts";
import { noArguments } from "../command-line.ts";
import { describePool } from "../pool-text.ts";
import { painted, wrapped } from "../terminal.ts";
import { formatViews, poolNameOf } from "../views-text.ts";

export const status: CommandSpec = {
  name: "status",
  summary: "how full each pool is, and its problems",
  details: [
    "-o wide adds exclusions, the rate of allocations and what the forecast rests on. Ends with 1 where a pool has a problem.",
  ],
  run: async ({ line, ask, terminal }) => {
    noArguments(line);
    const pools = await ask((door) => door.pools());
    const problems = pools.flatMap(problemsOf);
    const exitCode = problems.length > 0 || pools.length === 0 ? 1 : 0;
    const formatted = formatViews(line, { items: pools, total: pools.length }, pools.map(poolNameOf));
    if (formatted !== undefined) return { stdout: formatted, exitCode };
    if (pools.length === 0) {
      return { stdout: "", stderr: "there is no MACPool: set kubeMacPool in NetworkAddonsConfig cluster", exitCode };
    }
    const wide = line.options.output === "wide";
    const verdict =
      problems.length === 0
        ? "No problems.\n"
        : problems.map((text) => painted(terminal, "red", wrapped(terminal, `Problem: ${text}`, 0))).join("");
    return { stdout: `${pools.map((pool) => describePool(pool, terminal, wide)).join("\n")}\n${verdict}`, exitCode };
  },
};

function problemsOf(pool: PoolView): string[] {
  const { name, problem, conflicts, hostConflicts = 0, hostAddressPolicy, capacity, free } = pool;
  const shared = conflicts === 1 ? "1 address has" : `${conflicts} addresses have`;
  const ofNodes =
    hostConflicts === 1
      ? "1 address of its objects is also the address of a node"
      : `${hostConflicts} addresses of its objects are also addresses of nodes`;
  const isConflict = hostConflicts > 0 && hostAddressPolicy !== "Off";
  const isFull = problem === undefined && capacity > 0 && free === 0;
  return [
    ...(problem === undefined ? [] : [`MACPool ${name}: ${problem}`]),
    ...(isFull ? [`MACPool ${name}: the range is full: add a range to spec.ranges`] : []),
    ...(conflicts > 0 ? [`MACPool ${name}: ${shared} more than one owner: see kubectl macpool collisions -A`] : []),
    ...(isConflict ? [`MACPool ${name}: ${ofNodes}: see kubectl macpool doctor`] : []),
  ];
}
