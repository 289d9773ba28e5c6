import { objectYaml } from "../../kube/client/object-yaml.ts";
import type { WatchEventView } from "../../mac-pool/inspection/rest/views.ts";
import type { ListedClaim } from "../backends/pool-backend.ts";
import { describeOwner } from "../claim-text.ts";
import type { CommandSpec } from "../command.ts";
import { noArguments } from "../command-line.ts";
import { localTime } from "../quantities.ts";
import { type Colour, painted, type Terminal } from "../terminal.ts";
import { claimNameOf } from "../views-text.ts";

type Event = WatchEventView<ListedClaim>;

export const watch: CommandSpec = {
  name: "watch",
  summary: "addresses as they are taken and freed, until Ctrl-C",
  details: ["First the addresses in use, then each change. -o json prints one object a line."],
  examples: ["kubectl macpool watch -A", "kubectl macpool watch -n lab -o json"],
  run: async ({ line, namespace: chosen, open, ask, print, terminal, signal, now }) => {
    noArguments(line);
    const namespace = await chosen();
    if (namespace !== undefined) await (await open()).expectNamespace(namespace);
    const { output } = line.options;
    await ask(async (backend) => {
      for await (const event of backend.watch(namespace, signal)) {
        if (event.object === undefined) continue;
        if (typeof output === "function") print(output(event));
        else if (output === "json") print(`${JSON.stringify(event)}\n`);
        else if (output === "yaml") print(`---\n${objectYaml(event)}`);
        else if (output === "name") print(`${claimNameOf(event.object)}\n`);
        else print(lineOf(event.type, event.object, now(), terminal));
      }
    });
    return { stdout: "", exitCode: 0 };
  },
};

const COLOURS: Readonly<Record<Event["type"], Colour>> = {
  ADDED: "green",
  MODIFIED: "yellow",
  DELETED: "red",
  RESET: "dim",
  BOOKMARK: "dim",
};

function lineOf(
  type: Event["type"],
  { mac, phase, owners, elsewhere }: ListedClaim,
  nowMs: number,
  terminal: Terminal,
): string {
  const hidden = elsewhere === 0 ? [] : [`${elsewhere} elsewhere`];
  const held = [...owners.map((owner) => `${describeOwner(owner)} (${owner.interface})`), ...hidden].join(" and ");
  const event = painted(terminal, COLOURS[type], type.padEnd(8));
  const text = `${mac}  ${phase.padEnd(11)}  ${held || "-"}`;
  const time = localTime(nowMs).slice(-8);
  return `${time}  ${event}  ${text}\n`;
}
