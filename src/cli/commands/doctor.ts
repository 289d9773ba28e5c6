import type { Finding, KnownConsistency } from "../backends/pool-backend.ts";
import type { CommandSpec } from "../command.ts";
import { noArguments } from "../command-line.ts";
import { spanInWords } from "../quantities.ts";
import { formatFields } from "../table.ts";
import { painted, type Terminal, wrapped } from "../terminal.ts";
import { formatViews } from "../views-text.ts";

export const doctor: CommandSpec = {
  name: "doctor",
  summary: "what is inconsistent, and what to do about each",
  details: ["Looks at the whole cluster, or at one namespace with -n. Ends with 1 where something is inconsistent."],
  run: async ({ line, onlyNamespace, ask, terminal, nowMs }) => {
    noArguments(line);
    const view = await ask((backend) => backend.consistency(onlyNamespace));
    const stdout = formatViews(line, view) ?? describe(view, onlyNamespace, terminal, nowMs);
    return { stdout, exitCode: view.total === 0 ? 0 : 1 };
  },
};

function describe(view: KnownConsistency, namespace: string | undefined, terminal: Terminal, nowMs: number): string {
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
    ? `${verdict}${formatFields(fields)}`
    : `${verdict}\n${findings.map((one) => describeFinding(one, terminal, nowMs)).join("")}${more.join("")}\n${formatFields(fields)}`;
}

function describeFinding(finding: Finding, terminal: Terminal, nowMs: number): string {
  const { code, mac, pool, owner, message, advice } = finding;
  const what = [
    mac,
    pool === undefined ? undefined : `MACPool ${pool}`,
    owner === undefined ? undefined : `${owner.kind} ${owner.namespace}/${owner.name}`,
  ].filter((text) => text !== undefined);
  const head = [painted(terminal, "bold", code), ...what].join("  ");
  const age = since(finding.since, nowMs, " (for ", ")");
  return `\n${head}${age}\n${wrapped(terminal, message, 2)}${wrapped(terminal, `-> ${advice}`, 2)}`;
}

function since(time: string | undefined, nowMs: number, before: string, after: string): string {
  return time === undefined ? "" : `${before}${spanInWords(nowMs - Date.parse(time))}${after}`;
}
