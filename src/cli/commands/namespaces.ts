import type { NamespaceView } from "../../mac-pool/inspection/rest/views.ts";
import type { CommandSpec } from "../command.ts";
import { noArguments } from "../command-line.ts";
import { type Column, formatTable, tableOptions } from "../table.ts";
import { formatList } from "../views-text.ts";

export const namespaces: CommandSpec = {
  name: "namespaces",
  summary: "which namespaces are managed, by which pool",
  details: ["-o wide adds the label that decides, and whether single objects can opt out. -n shows one namespace."],
  examples: ["kubectl macpool namespaces -o wide"],
  run: async ({ line, onlyNamespace, ask, terminal }) => {
    noArguments(line);
    const items = await ask((backend) => backend.namespaces(onlyNamespace));
    const formatted = formatList(line, items, ({ name }) => `namespace/${name}`);
    const emptyIn = items.length === 0 ? onlyNamespace : undefined;
    if (formatted !== undefined) return { stdout: formatted, exitCode: 0, emptyIn };
    const managed = (is: boolean): string => (is ? "managed" : "ignored");
    const columns: Column<NamespaceView>[] = [
      { header: "NAMESPACE", cell: ({ name }) => name, cut: true },
      { header: "VMS", cell: ({ vms }) => managed(vms) },
      { header: "PODS", cell: ({ pods }) => managed(pods) },
      { header: "POOL", cell: ({ pool = "" }) => pool, drop: 1 },
      { header: "CLAIMS", cell: ({ claims }) => String(claims) },
      { header: "LIMIT", cell: ({ limit }) => (limit === undefined ? "" : String(limit)), drop: 2 },
    ];
    const because: Column<NamespaceView>[] = [
      { header: "VMS BECAUSE", cell: ({ because }) => because.vms, below: true },
      { header: "PODS BECAUSE", cell: ({ because }) => because.pods, below: true },
      { header: "OBJECTS THAT OPT OUT", cell: optOutText, below: true },
    ];
    const shown = line.options.output === "wide" ? [...columns, ...because] : columns;
    return { stdout: formatTable(shown, items, tableOptions(line.options, terminal)), exitCode: 0, emptyIn };
  },
};

/** Nothing of a namespace in which nothing is managed. */
function optOutText({ vms, pods, objectsMayOptOut, because }: NamespaceView): string {
  if (objectsMayOptOut === undefined || !(vms || pods)) return "";
  return `objects with ignore: ${objectsMayOptOut ? "ignored" : "claimed"}, ${because.objects}`;
}
