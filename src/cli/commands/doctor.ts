import type { ConsistencyView, FindingView } from "../../mac-pool/inspection/views.ts";
import type { CommandSpec } from "../command.ts";
import { noArguments } from "../command-line.ts";
import { formatFields } from "../table.ts";
import { painted, type Terminal, wrapped } from "../terminal.ts";
import { spanInWords } from "../time-text.ts";
import { formatViews } from "../views-text.ts";

export const doctor: CommandSpec = {
  name: "doctor",
  summary: "what is inconsistent, and what to do about each",
  details: ["Ends with 1 where something is."],
  run: async ({ line, ask, terminal, nowMs }) => {
    noArguments(line);
    const view = await ask((door) => door.consistency());
    const stdout = formatViews(line, view) ?? describe(view, terminal, nowMs);
    return { stdout, exitCode: view.total === 0 ? 0 : 1 };
  },
};

function describe(view: ConsistencyView, terminal: Terminal, nowMs: number): string {
  const { findings, total, leader, replicas, adoption } = view;
  const silent = replicas.filter(({ answers }) => !answers).map(({ name }) => name);
  const answering = replicas.length - silent.length;
  const fields: [string, string][] = [
    ["leader", leader === null ? "not known" : `${leader.identity}${since(leader.since, nowMs, ", for ", "")}`],
    [
      "replicas",
      replicas.length === 0
        ? "not known"
        : `${answering} of ${replicas.length} answer${silent.length === 0 ? "" : `; no answer from ${silent.join(", ")}`}`,
    ],
    ["adoption", adoption.message],
  ];
  const more = total > findings.length ? [`... and ${total - findings.length} more\n`] : [];
  const verdict =
    total === 0
      ? `${painted(terminal, "green", "Nothing is inconsistent.")}\n`
      : painted(terminal, "red", `${total} finding${total === 1 ? "" : "s"}`);
  return total === 0
    ? `${verdict}${formatFields(fields)}`
    : `${verdict}\n${findings.map((one) => describeFinding(one, terminal, nowMs)).join("")}${more.join("")}\n${formatFields(fields)}`;
}

function describeFinding(finding: FindingView, terminal: Terminal, nowMs: number): string {
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
