import { type Mac, parseMac } from "../../api/mac.ts";
import { DEFAULT_MAC_POOL } from "../../api/names.ts";
import type { CommandSpec } from "../command.ts";
import { type CommandLine, textOption, UsageError } from "../command-line.ts";
import { drawMap, mapShape } from "../map-drawing.ts";
import { formatViews } from "../views-text.ts";

export const map: CommandSpec = {
  name: "map",
  args: "[POOL]",
  summary: "the addresses of a pool as a picture that zooms",
  details: [`POOL is ${DEFAULT_MAC_POOL} unless given. With few enough addresses each has a mark of its own.`],
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
    const view = await ask((door) => door.map(pool, { cells: shape.cells, from, to }));
    return { stdout: formatViews(line, view) ?? drawMap(view, shape, terminal), exitCode: 0 };
  },
};

function addressOption(line: CommandLine, name: string): Mac | undefined {
  const text = textOption(line, name);
  const mac = text === undefined ? undefined : parseMac(text);
  if (text === undefined || mac !== undefined) return mac;
  throw new UsageError(`--${name} ${JSON.stringify(text)} is not a MAC address: write six octets`);
}
