import { STATION, STATIONS } from "../../api/host-interfaces.ts";
import { type Mac, parseMac } from "../../api/mac.ts";
import { DEFAULT_MAC_POOL } from "../../api/names.ts";
import type { CellView, MapView } from "../../mac-pool/inspection/rest/views.ts";
import type { CommandSpec } from "../command.ts";
import { type CommandLine, textOption, UsageError } from "../command-line.ts";
import { withCommas } from "../quantities.ts";
import { type Colour, fitted, painted, type Terminal, wrapped } from "../terminal.ts";
import { formatViews } from "../views-text.ts";

export const map: CommandSpec = {
  name: "map",
  args: "[POOL]",
  summary: "the addresses of a pool as a picture that zooms",
  details: [`POOL is ${DEFAULT_MAC_POOL} unless given. With few enough addresses each has a mark of its own.`],
  examples: ["kubectl macpool map", "kubectl macpool map lab --from 02:5d:1c:00:00:00 --to 02:5d:1c:00:00:ff"],
  offers: "pools",
  options: [
    { name: "from", value: "MAC", summary: "first address" },
    { name: "to", value: "MAC", summary: "last address" },
  ],
  run: async ({ line, ask, terminal }) => {
    const [pool = DEFAULT_MAC_POOL, ...more] = line.args;
    if (more.length > 0) throw new UsageError("map takes one argument: the name of a MACPool");
    const [from, to] = [addressOption(line, "from"), addressOption(line, "to")];
    if (from !== undefined && to !== undefined && to < from) throw new UsageError("--to is below --from");
    const shape = mapShape(terminal);
    const view = await ask((backend) => backend.map(pool, { cells: shape.cells, from, to }));
    return { stdout: formatViews(line, view) ?? drawMap(view, shape, terminal), exitCode: 0 };
  },
};

function addressOption(line: CommandLine, name: string): Mac | undefined {
  const text = textOption(line, name);
  const mac = text === undefined ? undefined : parseMac(text);
  if (text === undefined || mac !== undefined) return mac;
  throw new UsageError(`--${name} ${JSON.stringify(text)} is not a MAC address: write six octets`);
}

/** The address map as lines of a terminal: one mark a cell, the first address of each line before it. */

/** Columns before the marks: an address and a gap. */
const MARGIN = 19;
/** Marks a line: powers of two, so that lines begin at round addresses. */
const LINES_OF = [64, 32, 16];
const ROWS = 16;
/** Where the width is not known. */
const PIPE_COLUMNS = 80;

interface MapShape {
  readonly width: number;
  readonly cells: number;
}

function mapShape({ columns = PIPE_COLUMNS }: Terminal): MapShape {
  const width = LINES_OF.find((marks) => MARGIN + marks <= columns) ?? 8;
  return { width, cells: width * ROWS };
}

/** From free to taken. */
const UNICODE = ["·", "░", "▒", "▓", "█"] as const;
const ASCII = [".", ":", "-", "=", "#"] as const;
const COLLIDING = "!";
const NODES_OWN = "nodes' own";

/** Numbers of a cell, in words. */
const COUNTS = {
  free: "free",
  bound: "bound",
  pending: "pending",
  quarantined: "quarantined",
  hostAddresses: NODES_OWN,
  stationAddresses: `of ${STATIONS}`,
  colliding: "colliding",
} as const;

function drawMap(map: MapView, { width }: MapShape, terminal: Terminal): string {
  const lines: string[] = [];
  for (let at = 0; at < map.cells.length; at += width) {
    const cells = map.cells.slice(at, at + width);
    lines.push(`${cells[0]?.first ?? ""}  ${marksOf(cells, terminal)}\n`);
  }
  const size = map.cells[0]?.size ?? 1;
  const each = size === 1 ? "each mark is one address" : `each mark is ${withCommas(size)} addresses`;
  const outside =
    map.outOfRange === 0
      ? []
      : [`${withCommas(map.outOfRange)} claim${map.outOfRange === 1 ? " is" : "s are"} outside the ranges.\n`];
  const head = `MACPool ${map.pool}: ${map.from}-${map.to}\n${each}\n\n`;
  return [head, ...lines, "\n", legend(size === 1, terminal), ...sums(map, terminal), ...outside].join("");
}

/** Neighbours of one colour are painted together. */
function marksOf(cells: readonly CellView[], terminal: Terminal): string {
  const runs: { readonly colour: Colour; marks: string }[] = [];
  for (const cell of cells) {
    const [colour, last] = [colourOf(cell), runs.at(-1)];
    if (last?.colour === colour) last.marks += markOf(cell, terminal);
    else runs.push({ colour, marks: markOf(cell, terminal) });
  }
  return runs.map(({ colour, marks }) => painted(terminal, colour, marks)).join("");
}

function markOf(cell: CellView, terminal: Terminal): string {
  const { size, free, colliding, pending, quarantined, explicit, hostAddresses = 0, stationAddresses = 0 } = cell;
  const shades = terminal.unicode ? UNICODE : ASCII;
  if (colliding > 0) return COLLIDING;
  if (size > 1 || free === 1)
    return shades[free === size ? 0 : Math.min(4, Math.ceil((4 * (size - free)) / size))] ?? " ";
  if (quarantined > 0) return "Q";
  if (pending > 0) return "P";
  if (hostAddresses > 0) return stationAddresses > 0 ? "S" : "N";
  return explicit > 0 ? "E" : "B";
}

function colourOf({ colliding, pending, quarantined, bound, hostAddresses = 0, free, size }: CellView): Colour {
  if (colliding > 0) return "red";
  if (free === size) return "dim";
  if (hostAddresses > pending + quarantined + bound) return "magenta";
  if (quarantined >= bound && quarantined >= pending) return "blue";
  return pending > bound ? "yellow" : "green";
}

function legend(single: boolean, terminal: Terminal): string {
  const [none, quarter, half, most, full] = terminal.unicode ? UNICODE : ASCII;
  const collides = `${painted(terminal, "red", COLLIDING)} colliding`;
  if (single) {
    const marks = `${none} free, B bound, E explicit, P pending, Q quarantined, N a node's own, S ${STATION}, ${collides}`;
    return fitted(terminal, marks, 0);
  }
  const colours = terminal.colour
    ? `colours: mostly ${painted(terminal, "green", "bound")}, ${painted(terminal, "yellow", "pending")}, ${painted(terminal, "blue", "quarantined")}, ${painted(terminal, "magenta", `${NODES_OWN} or of ${STATIONS}`)}`
    : undefined;
  const shades = `${none} free, ${quarter} up to 25 % taken, ${half} 50 %, ${most} 75 %, ${full} more, ${collides}`;
  return fitted(terminal, shades, 0) + (colours === undefined ? "" : fitted(terminal, colours, 0));
}

function sums(map: MapView, terminal: Terminal): string[] {
  const cells = map.cells.map(({ stationAddresses, ...cell }): CellView => {
    if (stationAddresses === undefined) return cell;
    return { ...cell, hostAddresses: (cell.hostAddresses ?? 0) - stationAddresses, stationAddresses };
  });
  const known = (Object.keys(COUNTS) as (keyof typeof COUNTS)[]).filter((key) => cells[0]?.[key] !== undefined);
  const sum = (key: keyof typeof COUNTS | "explicit"): number =>
    cells.reduce((total, cell) => total + (cell[key] ?? 0), 0);
  const counts = known.map((key) => `${withCommas(sum(key))} ${COUNTS[key]}`).join(", ");
  const explicit = sum("explicit");
  const all = wrapped(terminal, counts, 0);
  if (explicit === 0) return [all];
  const are = explicit === 1 ? "1 is" : `${withCommas(explicit)} are`;
  return [all, wrapped(terminal, `Of the bound, pending and quarantined ones, ${are} explicit.`, 0)];
}
