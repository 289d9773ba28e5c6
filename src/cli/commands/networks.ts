import { onNodes, otherProblems, vlanText } from "../../api/network-text.ts";
import type { BridgeView, NetworkView } from "../../mac-pool/inspection/rest/views.ts";
import type { CommandSpec } from "../command.ts";
import { type CommandLine, UsageError } from "../command-line.ts";
import { cellText, LEGEND, nodesText, problemText } from "../network-text.ts";
import { withCommas } from "../quantities.ts";
import { type Column, formatTable, GAP, tableOptions } from "../table.ts";
import { type Terminal, wrapped } from "../terminal.ts";
import { formatViews, networkNameOf } from "../views-text.ts";

/** So many nodes have a column each; with -o wide, as many as a list names. */
const MAX_COLUMNS = 6;
const MAX_WIDE_COLUMNS = 16;
/** What the names of networks keep beside them. */
const MIN_NETWORK = 20;

export const networks: CommandSpec = {
  name: "networks",
  args: "[TEXT]",
  summary: "bridges, their networks, and where VMs can start",
  details: [
    "TEXT is a part of namespace/name of networks, or of a bridge. -n shows the networks of one namespace and their bridges.",
    `${LEGEND} Where the nodes have no room for a column each, there are numbers of nodes, and exceptions are named.`,
    "-o wide adds resources, uplinks and pods. kubectl macpool network NAME says more about one.",
  ],
  examples: ["kubectl macpool networks", "kubectl macpool networks br1 -o wide", "kubectl macpool networks -n lab"],
  run: async ({ line, onlyNamespace, ask, terminal }) => {
    const [search, ...more] = line.args;
    if (more.length > 0) throw new UsageError("networks takes one argument: a part of a name or of a bridge");
    const found = await ask((backend) => backend.networks(onlyNamespace, search));
    const used = new Set(found.map(({ bridge }) => bridge));
    const isMeant = ({ name }: BridgeView): boolean => search === undefined || used.has(name) || name.includes(search);
    const bridges = (await ask((backend) => backend.bridges(onlyNamespace))).filter(isMeant);
    const formatted = formatViews(line, { bridges, networks: found }, found.map(networkNameOf));
    const emptyIn = bridges.length + found.length === 0 ? onlyNamespace : undefined;
    if (formatted !== undefined) return { stdout: formatted, exitCode: 0, emptyIn };
    if (bridges.length + found.length === 0) {
      const what = search === undefined ? "is known" : `has ${JSON.stringify(search)} in its name`;
      const where = onlyNamespace === undefined ? "" : ` in namespace ${onlyNamespace}`;
      return { stdout: "", stderr: `No network and no bridge ${what}${where}.`, exitCode: 0, emptyIn };
    }
    const columns = columnsFor(bridges, found, line, terminal).map(withHeadings);
    const table = formatTable(columns, rowsOf(bridges, found), tableOptions(line.options, terminal));
    const legend = line.options.noHeaders ? "" : `\n${wrapped(terminal, LEGEND, 0)}`;
    return { stdout: table + legend, exitCode: 0 };
  },
};

/** A bridge, or a network below its bridge. */
type Row =
  | { readonly bridge: BridgeView; readonly network?: undefined }
  | { readonly network: NetworkView; readonly bridge?: undefined };

/** Above networks whose bridge is not among those that the pool tells, or that have none. */
interface Heading {
  readonly heading: string;
}

/** Both come by the name of the bridge; networks without one are last. */
function rowsOf(bridges: readonly BridgeView[], found: readonly NetworkView[]): (Row | Heading)[] {
  const below = Map.groupBy(found, ({ bridge }) => bridge);
  const rowsBelow = (bridge: string | undefined): Row[] => (below.get(bridge) ?? []).map((network) => ({ network }));
  const names = new Set<string | undefined>(bridges.map(({ name }) => name));
  const others = [...below.keys()].filter((bridge) => !names.has(bridge));
  return [
    ...bridges.flatMap((bridge): Row[] => [{ bridge }, ...rowsBelow(bridge.name)]),
    ...others.flatMap((bridge) => [{ heading: bridge ?? "without a bridge" }, ...rowsBelow(bridge)]),
  ];
}

function withHeadings({ cell, short = cell, ...column }: Column<Row>, index: number): Column<Row | Heading> {
  const shown = (of: Column<Row>["cell"]) => (row: Row | Heading) => {
    if (!("heading" in row)) return of(row);
    return index === 0 ? row.heading : "";
  };
  return { ...column, cell: shown(cell), short: shown(short) };
}

function columnsFor(
  bridges: readonly BridgeView[],
  found: readonly NetworkView[],
  { options: { output } }: CommandLine,
  terminal: Terminal,
): Column<Row>[] {
  const isWide = output === "wide";
  const nodes = nodesOf(bridges, found, isWide ? WIDE_ROOM : roomOf(terminal));
  const isFolded = nodes === undefined;
  const wide: Column<Row>[] = [
    { header: "UPLINK", cell: ({ bridge }) => bridge?.uplink ?? "" },
    { header: "RESOURCE", cell: ({ network }) => network?.resource ?? "" },
    { header: "SPOOF CHECK", cell: ({ network }) => (network === undefined ? "" : network.spoofCheck ? "on" : "off") },
    { header: "PODS", cell: ({ network }) => (network === undefined ? "" : withCommas(network.pods)) },
  ];
  return [
    {
      header: "BRIDGE/NETWORK",
      cell: ({ bridge, network }) =>
        bridge === undefined ? `  ${network.namespace}/${network.name}` : bridgeText(bridge, isFolded),
      short: ({ bridge, network }) => (bridge === undefined ? `  ${network.namespace}/${network.name}` : bridge.name),
      cut: true,
    },
    {
      header: "VLAN",
      cell: ({ bridge, network }) => {
        if (bridge === undefined) return vlanText(network);
        return bridge.filtering === undefined ? "" : `filtering ${bridge.filtering}`;
      },
      cut: true,
      drop: 2,
    },
    {
      header: "MTU",
      cell: ({ bridge, network }) => (bridge === undefined ? String(network.mtu ?? "") : bridge.mtus.join(", ")),
      drop: 3,
    },
    { header: "USED BY", cell: ({ network }) => network?.usedBy.join(", ") ?? "", cut: true, drop: 4 },
    ...(isWide ? wide : []),
    ...(isFolded ? foldedColumns() : nodes.map(columnOf)),
    { header: "WHAT IS WRONG", cell: (row) => wrongOf(row, isFolded), below: true },
  ];
}

/** The nodes have a column where they are folded. */
function bridgeText(bridge: BridgeView, isFolded: boolean): string {
  return isFolded ? bridge.name : `${bridge.name} ${onNodes(bridge)}`;
}

function wrongOf({ bridge, network }: Row, isFolded: boolean): string {
  if (bridge === undefined) return problemText(network, isFolded);
  // Its first cell says so.
  return [...otherProblems(bridge), ...bridge.notes].join(", ");
}

/** What the columns of nodes may take. */
interface NodeRoom {
  readonly columns: number;
  readonly width: number;
}

const WIDE_ROOM: NodeRoom = { columns: MAX_WIDE_COLUMNS, width: Number.POSITIVE_INFINITY };

function roomOf({ columns = Number.POSITIVE_INFINITY }: Terminal): NodeRoom {
  return { columns: MAX_COLUMNS, width: columns - MIN_NETWORK };
}

/** Names of the nodes, where all of them fit. */
function nodesOf(
  bridges: readonly BridgeView[],
  found: readonly NetworkView[],
  room: NodeRoom,
): readonly string[] | undefined {
  const isWhole = found.every(({ nodes }) => nodes.total <= MAX_WIDE_COLUMNS);
  if (!isWhole || bridges.some(({ totalNodes }) => totalNodes > MAX_WIDE_COLUMNS)) return undefined;
  const cells = [...bridges.flatMap(({ on }) => on), ...found.flatMap((network) => network.cells)];
  const names = [...new Set(cells.map(({ node }) => node))].sort();
  const width = names.reduce((sum, name) => sum + name.length + GAP.length, 0);
  return names.length > room.columns || width > room.width ? undefined : names;
}

function columnOf(node: string): Column<Row> {
  return {
    header: node,
    cell: ({ bridge, network }) => {
      if (bridge === undefined) return cellText(network.cells.find((cell) => cell.node === node));
      const on = bridge.on.find((one) => one.node === node);
      return on === undefined ? "" : withCommas(on.running);
    },
    cut: true,
  };
}

function foldedColumns(): Column<Row>[] {
  return [
    { header: "RUNNING", cell: ({ bridge, network }) => withCommas((bridge ?? network).running) },
    {
      header: "NODES",
      cell: ({ bridge, network }) => (bridge === undefined ? nodesText(network) : onNodes(bridge)),
      cut: true,
    },
  ];
}
