import { describeStations, MANY_STATIONS } from "../../api/host-interfaces.ts";
import { formatMac } from "../../api/mac.ts";
import { type MacRange, rangeSize } from "../../api/mac-range.ts";
import type { PoolBackend } from "../backends/pool-backend.ts";
import {
  type ClusterRange,
  type ClusterState,
  compareRanges,
  MAX_SUGGESTED,
  type Overlap,
  suggestRange,
} from "../cluster-comparison.ts";
import type { CommandSpec } from "../command.ts";
import { noArguments, numberOption, switchOption, UsageError } from "../command-line.ts";
import { CliError } from "../faults.ts";
import { withCommas } from "../quantities.ts";
import { CONTEXTS_OPTION, contextsOf, randomFraction, statesOf } from "../several-clusters.ts";
import { type Column, formatTable, type TableOptions, tableOptions } from "../table.ts";
import { painted, type Terminal, wrapped } from "../terminal.ts";
import { formatViews } from "../views-text.ts";

export const ranges: CommandSpec = {
  name: "ranges",
  summary: "ranges of the pools, also compared between clusters",
  details: [
    "Two clusters whose ranges overlap will give two VMs one address sooner or later. That matters where " +
      "both clusters reach the same layer-2 network. Ends with 1 where ranges overlap, or where so many " +
      "stations outside the cluster use addresses of a range that another cluster must have it.",
  ],
  examples: [
    "kubectl macpool ranges",
    "kubectl macpool ranges --contexts east,west",
    "kubectl macpool ranges --contexts east,west --suggest",
  ],
  options: [
    CONTEXTS_OPTION,
    { name: "suggest", summary: "propose a range that none of the clusters has" },
    { name: "size", value: "N", summary: `addresses of the proposed range; default: ${withCommas(MAX_SUGGESTED)}` },
  ],
  run: async (input) => {
    const { line, terminal, ask } = input;
    noArguments(line);
    const contexts = contextsOf(line);
    const size = numberOption(line, "size", 1, MAX_SUGGESTED);
    const suggests = switchOption(line, "suggest");
    if (size !== undefined && !suggests) throw new UsageError("--size belongs to --suggest");
    const states = contexts === undefined ? [await ask(stateOfOne)] : await statesOf(contexts, input);
    const { items, overlaps } = compareRanges(states);
    const range = suggests ? suggestRange(states, size ?? MAX_SUGGESTED, randomFraction()) : undefined;
    if (suggests && range === undefined) throw new CliError("every prefix 02:xx:xx is in use: choose a range by hand");
    const suggestion =
      range === undefined ? {} : { suggestion: { first: formatMac(range.start), last: formatMac(range.end) } };
    const isShared = items.some(({ stations }) => stations !== undefined && stations.count >= MANY_STATIONS);
    const exitCode = overlaps.length > 0 || isShared ? 1 : 0;
    const formatted = formatViews(
      line,
      { items, overlaps, ...suggestion },
      items.map(({ cluster, pool }) => `${cluster}/${pool}`),
    );
    if (formatted !== undefined) return { stdout: formatted, exitCode };
    const parts = [
      rangeTable(items, contexts !== undefined, tableOptions(line.options, terminal)),
      ...stationTexts(items, contexts !== undefined, terminal),
      ...(contexts === undefined ? [] : [verdict(overlaps, states.length, terminal)]),
      ...(range === undefined ? [] : [proposal(range, states)]),
    ];
    return { stdout: parts.join("\n"), exitCode };
  },
};

async function stateOfOne(backend: PoolBackend): Promise<ClusterState> {
  const [pools, claims] = await Promise.all([backend.pools(), backend.claims()]);
  return { cluster: "this cluster", pools, claims };
}

function rangeTable(items: readonly ClusterRange[], several: boolean, options: TableOptions): string {
  const clusters: Column<ClusterRange>[] = [{ header: "CLUSTER", cell: ({ cluster }) => cluster, cut: true }];
  const overlaps: Column<ClusterRange>[] = [
    { header: "OVERLAPS", cell: ({ overlaps }) => overlaps.join(","), drop: 1 },
  ];
  const columns: Column<ClusterRange>[] = [
    ...(several ? clusters : []),
    { header: "POOL", cell: ({ pool }) => pool },
    { header: "FIRST", cell: ({ first }) => first },
    { header: "LAST", cell: ({ last }) => last },
    { header: "ADDRESSES", cell: ({ capacity }) => withCommas(capacity), drop: 2 },
    { header: "USED", cell: ({ used }) => withCommas(used), drop: 3 },
    ...(several ? overlaps : []),
  ];
  return formatTable(columns, items, options);
}

/** A sentence for each range in which nodes see stations outside the cluster. */
function stationTexts(items: readonly ClusterRange[], several: boolean, terminal: Terminal): string[] {
  const texts = items.flatMap(({ cluster, pool, first, last, stations }) => {
    if (stations === undefined) return [];
    const where = `${several ? `${cluster}/` : ""}${pool} ${first}-${last}`;
    return [wrapped(terminal, `${where}: ${describeStations(stations)}`, 0)];
  });
  return texts.length === 0 ? [] : [texts.join("")];
}

function verdict(overlaps: readonly Overlap[], clusters: number, terminal: Terminal): string {
  if (overlaps.length === 0) return `No two of the ${clusters} clusters hand out the same addresses.\n`;
  return overlaps
    .map(({ between: [one, other], first, last, addresses }) => {
      const count = addresses === 1 ? "1 address" : `${withCommas(addresses)} addresses`;
      return `${painted(terminal, "red", "Overlap:")} ${one} and ${other} both hand out ${first}-${last} (${count}).\n`;
    })
    .join("");
}

function proposal(range: MacRange, states: readonly ClusterState[]): string {
  const [first, last] = [formatMac(range.start), formatMac(range.end)];
  const whose = states.length === 1 ? "the cluster" : `the ${states.length} clusters`;
  const size = rangeSize(range);
  const any = size === 1 ? "its address" : `any of its ${withCommas(size)} addresses`;
  return `${first}-${last} is free: no range and no claim of ${whose} has ${any}.
To use it, set in NetworkAddonsConfig cluster:
  spec:
    kubeMacPool:
      rangeStart: "${first}"
      rangeEnd: "${last}"
`;
}
