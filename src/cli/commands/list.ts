import { formatClaims } from "../claim-text.ts";
import type { CommandSpec } from "../command.ts";
import { noArguments } from "../command-line.ts";
import { claimNameOf, formatList } from "../views-text.ts";

export const list: CommandSpec = {
  name: "list",
  summary: "addresses in use in a namespace (-A: in all namespaces)",
  run: async (input) => {
    const { line } = input;
    noArguments(line, "use kubectl macpool find");
    const namespace = await input.namespace();
    const claims = await input.ask((backend) => backend.claims(namespace));
    const formatted = formatList(line, claims, claimNameOf);
    if (formatted !== undefined) return { stdout: formatted, exitCode: 0 };
    if (claims.length === 0) {
      const where = namespace === undefined ? "in the cluster" : `in namespace ${namespace}`;
      return { stdout: "", stderr: `No MAC addresses are in use ${where}.`, exitCode: 0 };
    }
    return { stdout: formatClaims(claims, namespace, input), exitCode: 0 };
  },
};
