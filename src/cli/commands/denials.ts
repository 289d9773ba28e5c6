import type { DenialView } from "../../mac-pool/inspection/rest/views.ts";
import { shortKind } from "../claim-text.ts";
import type { CommandSpec } from "../command.ts";
import { noArguments } from "../command-line.ts";
import { shortAge } from "../quantities.ts";
import { type Column, formatTable, tableOptions } from "../table.ts";
import { wrapped } from "../terminal.ts";
import { formatViews, ownerNameOf } from "../views-text.ts";

export const denials: CommandSpec = {
  name: "denials",
  summary: "what was refused last, and why",
  details: ["Each refusal is told with the text that the author of the object got. -o wide prints it in the table."],
  examples: ["kubectl macpool denials -n lab", "kubectl macpool denials -A -o wide"],
  run: async ({ line, namespace: chosen, ask, nowMs, terminal }) => {
    noArguments(line, "use kubectl macpool explain");
    const namespace = await chosen();
    const list = await ask((backend) => backend.denials(namespace));
    const formatted = formatViews(line, list, list.items.filter(({ name }) => !name.endsWith("*")).map(ownerNameOf));
    const emptyIn = list.items.length === 0 ? namespace : undefined;
    if (formatted !== undefined) return { stdout: formatted, exitCode: 0, emptyIn };
    const silent = list.partial?.length ? `Replicas that did not answer: ${list.partial.join(", ")}.` : "";
    if (list.items.length === 0) {
      const where = namespace === undefined ? "in the cluster" : `in namespace ${namespace}`;
      const stderr = [`No refusal is remembered ${where}.`, silent].join(" ").trim();
      return { stdout: "", stderr, exitCode: 0, emptyIn };
    }
    const columns: Column<DenialView>[] = [
      { header: "LAST", cell: ({ at }) => shortAge(Date.parse(at), nowMs) },
      { header: "COUNT", cell: ({ count }) => String(count), drop: 3 },
      {
        header: "OBJECT",
        cell: ({ kind, namespace, name }) => `${shortKind(kind)}/${namespace}/${name}`,
        cut: true,
      },
      { header: "INTERFACE", cell: (denial) => denial.interface ?? "", drop: 2 },
      { header: "MAC", cell: ({ mac = "" }) => mac, drop: 1 },
      { header: "REASON", cell: ({ code }) => code.replace(/^MACPOOL_/, "") },
    ];
    const options = tableOptions(line.options, terminal);
    if (line.options.output === "wide") {
      const message: Column<DenialView> = { header: "MESSAGE", cell: (denial) => denial.message, below: true };
      return { stdout: formatTable([...columns, message], list.items, options), stderr: silent, exitCode: 0 };
    }
    const lines = formatTable(columns, list.items, options).split(/(?<=\n)/);
    const heads = options.noHeaders ? [] : lines.splice(0, 1);
    const texts = list.items.map(({ message, dryRun }, index) => {
      const text = dryRun ? `(dry run) ${message}` : message;
      return (lines[index] ?? "") + wrapped(terminal, text, 2);
    });
    return { stdout: [...heads, ...texts].join(""), stderr: silent, exitCode: 0 };
  },
};
