import { formatClaims } from "../claim-text.ts";
import type { CommandInput, CommandResult, CommandSpec } from "../command.ts";
import { noArguments, switchOption, textOption, UsageError } from "../command-line.ts";
import { claimNameOf, formatList } from "../views-text.ts";
import { watch } from "./watch.ts";

export const list: CommandSpec = {
  name: "list",
  summary: "addresses in use in a namespace (-A: in all namespaces)",
  details: [
    "SELECTOR is that of kubectl get macclaim -l: A=B, A!=B, A, !A, A in (B,C). It takes the right to list MACClaims.",
  ],
  examples: [
    "kubectl macpool list -n lab",
    "kubectl macpool list -A --pool default",
    "kubectl macpool list -A -l macpool.network.kubevirt.io/kind=Pod",
    "kubectl macpool list -A -w -o json",
  ],
  options: [
    { name: "pool", value: "NAME", summary: "only addresses of this MACPool", offers: "pools" },
    { name: "selector", short: "l", value: "SELECTOR", summary: "only those whose MACClaim has these labels" },
    { name: "watch", short: "w", summary: "then each change, as kubectl macpool watch" },
  ],
  run: async (input) => {
    const { line } = input;
    noArguments(line, "use kubectl macpool find");
    if (switchOption(line, "watch")) return watched(input);
    const namespace = await input.namespace();
    const pool = textOption(line, "pool");
    const selector = textOption(line, "selector");
    const labelled = selector === undefined ? undefined : await (await input.open()).claimsWith(selector);
    const all = await input.ask((backend) => backend.claims(namespace));
    const claims = all
      .filter((claim) => pool === undefined || claim.pool === pool)
      .filter(({ name }) => labelled === undefined || labelled.has(name));
    const formatted = formatList(line, claims, claimNameOf);
    const empty = {
      emptyIn: all.length === 0 ? namespace : undefined,
      emptyPool: claims.length === 0 && labelled === undefined ? pool : undefined,
    };
    if (formatted !== undefined) return { stdout: formatted, exitCode: 0, ...empty };
    if (claims.length === 0) {
      const where = namespace === undefined ? "in the cluster" : `in namespace ${namespace}`;
      const what = pool === undefined ? "MAC addresses" : `addresses of MACPool ${pool}`;
      const labels = selector === undefined ? "" : ` with labels ${selector}`;
      return { stdout: "", stderr: `No ${what}${labels} are in use ${where}.`, exitCode: 0, ...empty };
    }
    return { stdout: formatClaims(claims, namespace, input), exitCode: 0 };
  },
};

function watched(input: CommandInput): Promise<CommandResult> {
  const given = ["pool", "selector"].find((name) => textOption(input.line, name) !== undefined);
  if (given !== undefined) throw new UsageError(`a watch is of all addresses: leave --${given} out`);
  return watch.run(input);
}
