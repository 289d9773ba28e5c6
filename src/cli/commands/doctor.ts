import type { KnownConsistency } from "../backends/pool-backend.ts";
import type { CommandInput, CommandSpec } from "../command.ts";
import { noArguments } from "../command-line.ts";
import { describeFinding, since } from "../consistency-text.ts";
import { formatFields } from "../table.ts";
import { painted } from "../terminal.ts";
import { formatViews } from "../views-text.ts";

export const doctor: CommandSpec = {
  name: "doctor",
  summary: "what is inconsistent, and what to do about each",
  details: ["Looks at the whole cluster, or at one namespace with -n. Ends with 1 where something is inconsistent."],
  examples: ["kubectl macpool doctor", "kubectl macpool doctor -n lab"],
  run: async (input) => {
    const { line, onlyNamespace, ask } = input;
    noArguments(line);
    const view = await ask((backend) => backend.consistency(onlyNamespace));
    const stdout = formatViews(line, view) ?? describe(view, input);
    return { stdout, exitCode: view.total === 0 ? 0 : 1, emptyIn: view.total === 0 ? onlyNamespace : undefined };
  },
};

function describe(view: KnownConsistency, input: CommandInput): string {
  const { onlyNamespace: namespace, terminal, nowMs } = input;
  const { findings, total, leader, replicas, adoption } = view;
  const silent = replicas.filter(({ answers }) => !answers).map(({ name }) => name);
  const answering = replicas.length - silent.length;
  const noAnswer = silent.length === 0 ? "" : `; no answer from ${silent.join(", ")}`;
  // An answer about one namespace has no replicas.
  const ofCluster: [string, string][] =
    replicas.length === 0
      ? []
      : [
          ["leader", leader === null ? "not known" : `${leader.identity}${since(leader.since, nowMs, ", for ", "")}`],
          ["replicas", `${answering} of ${replicas.length} answer${noAnswer}`],
        ];
  const fields: [string, string][] = [...ofCluster, ["adoption", adoption.message]];
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  const more = total > findings.length ? [`... and ${total - findings.length} more\n`] : [];
  const verdict =
    total === 0
      ? `${painted(terminal, "green", `Nothing is inconsistent${where}.`)}\n`
      : painted(terminal, "red", `${total} finding${total === 1 ? "" : "s"}`);
  return total === 0
    ? `${verdict}${formatFields(fields, terminal)}`
    : `${verdict}\n${findings.map((one) => describeFinding(one, input)).join("")}${more.join("")}\n${formatFields(fields, terminal)}`;
}
