import { formatClaims } from "../claim-table.ts";
import type { CommandSpec } from "../command.ts";
import { noArguments } from "../command-line.ts";
import { claimNameOf, formatViews } from "../views-text.ts";

export const list: CommandSpec = {
  name: "list",
  summary: "addresses in use in a namespace (-A: in all namespaces)",
  run: async ({ line, namespace: chosen, ask, nowMs, terminal }) => {
    noArguments(line, "use kubectl macpool find");
    const { output, noHeaders } = line.options;
    const namespace = await chosen();
    const claims = await ask((door) => door.claims(namespace));
    const formatted = formatViews(line, { items: claims, total: claims.length }, claims.map(claimNameOf));
    if (formatted !== undefined) return { stdout: formatted, exitCode: 0 };
    if (claims.length === 0) {
      const where = namespace === undefined ? "in the cluster" : `in namespace ${namespace}`;
      return { stdout: "", stderr: `No MAC addresses are in use ${where}.`, exitCode: 0 };
    }
    const table = { wide: output === "wide", noHeaders, columns: terminal.columns, nowMs };
    return { stdout: formatClaims(claims, namespace, table), exitCode: 0 };
  },
};
