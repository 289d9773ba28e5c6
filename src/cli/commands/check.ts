import { parseMac } from "../../api/mac.ts";
import type { CheckView } from "../../mac-pool/inspection/rest/views.ts";
import { describeOwner, hiddenText } from "../claim-text.ts";
import type { CommandSpec } from "../command.ts";
import { oneArgument, UsageError } from "../command-line.ts";
import { formatFields } from "../table.ts";
import { painted, type Terminal, wrapped } from "../terminal.ts";
import { claimNameOf, formatViews } from "../views-text.ts";

export const check: CommandSpec = {
  name: "check",
  args: "MAC",
  summary: "whether the namespace would be given this address",
  details: ["MAC is an address in any notation. Ends with 1 where it would be refused."],
  run: async ({ line, namespace: chosen, ask, terminal }) => {
    const text = oneArgument(line, "a MAC address");
    const mac = parseMac(text);
    if (mac === undefined) throw new UsageError(`${JSON.stringify(text)} is not a MAC address: write six octets`);
    const namespace = await chosen();
    if (namespace === undefined) throw new UsageError("check needs a namespace: write -n NAMESPACE in place of -A");
    const view = await ask((backend) => backend.check(mac, namespace));
    return {
      stdout: formatViews(line, view, [claimNameOf(view)]) ?? describe(view, terminal),
      exitCode: view.accepted ? 0 : 1,
    };
  },
};

function describe(view: CheckView, terminal: Terminal): string {
  const { mac, namespace, accepted, code, message, pool, inRange, holders, elsewhere, hostAddress } = view;
  const verdict = accepted
    ? painted(terminal, "green", "would be accepted")
    : painted(terminal, "red", "would be refused");
  const fields: [string, string][] = [
    ["reason", code ?? ""],
    [
      "held by",
      [
        ...holders.map((holder) => `${describeOwner(holder)}, interface ${holder.interface}`),
        ...hiddenText(elsewhere),
      ].join("\n"),
    ],
    ["on a node", hostAddress ?? ""],
    [
      "pool",
      pool === undefined
        ? "none serves the namespace"
        : `${pool}${inRange ? "" : ", the address is outside its ranges"}`,
    ],
  ];
  const known = fields.filter(([, value]) => value !== "");
  return `${mac} ${verdict} in namespace ${namespace}\n${wrapped(terminal, message, 2)}${formatFields(known)}`;
}
