import type { Finding } from "../../nad-lint/finding.ts";
import type { ClusterFacts } from "../../nad-lint/lint.ts";
import { plain } from "../backends/plain-text.ts";
import type { CommandInput, CommandSpec } from "../command.ts";
import { noArguments, switchOption, textOptions, UsageError } from "../command-line.ts";
import { CliError } from "../faults.ts";
import { counted, describeFindings } from "../findings-text.ts";
import { readManifests } from "../manifests.ts";
import { lintNetworks, type Network, networkIn } from "../networks.ts";
import { readNodes } from "../nodes-with-bridges.ts";
import type { Terminal } from "../terminal.ts";
import { formatViews } from "../views-text.ts";

export const lint: CommandSpec = {
  name: "lint",
  args: "-f PATH",
  summary: "what is wrong with NetworkAttachmentDefinitions in files",
  details: [
    "Reads them as the plugins bridge and tuning do, without a cluster, and says what will happen to pods and what to write " +
      "instead. Networks of other plugins are passed over. Ends with 1 where something is wrong, and with 2 where a file can't be " +
      "read, or there is no network.",
  ],
  examples: ["kubectl macpool lint -f networks.yaml", "kubectl macpool lint -f manifests/ --nodes"],
  options: [
    {
      name: "filename",
      short: "f",
      value: "PATH",
      summary: "file, directory, or - for stdin; may be repeated",
      multiple: true,
    },
    { name: "nodes", summary: "also whether the nodes have the bridges, set to fit" },
  ],
  run: async (input) => {
    const { line, terminal } = input;
    noArguments(line, "write -f PATH");
    const paths = textOptions(line, "filename");
    if (paths.length === 0) throw new UsageError("lint needs files: write -f FILE, -f DIRECTORY or -f -");
    const networks = (await readManifests(paths, process.stdin)).flatMap((manifest) => {
      const network = networkIn(manifest, line.options.namespace ?? "default");
      return network === undefined ? [] : { source: manifest.source, ...network };
    });
    if (networks.length === 0) throw new CliError(`there is no NetworkAttachmentDefinition in ${paths.join(", ")}`);
    const cluster = switchOption(line, "nodes") ? await nodesOf(input) : {};
    const findings = lintNetworks(networks, cluster);
    const views = plain(
      networks.map(({ source, namespace, name }, index) => ({
        source,
        namespace,
        name,
        findings: findings[index] ?? [],
      })),
    );
    const isWrong = views.some(({ findings }) => findings.some(({ severity }) => severity !== "note"));
    return { stdout: formatViews(line, views) ?? describe(views, terminal), exitCode: isWrong ? 1 : 0 };
  },
};

interface LintView extends Pick<Network, "namespace" | "name"> {
  readonly source: string;
  readonly findings: readonly Finding[];
}

async function nodesOf({ open, line }: CommandInput): Promise<ClusterFacts> {
  const cluster = await open();
  try {
    return await readNodes(cluster.client, line.options.requestTimeoutMs);
  } catch (error) {
    throw cluster.describe(error);
  }
}

function describe(views: readonly LintView[], terminal: Terminal): string {
  const texts = views
    .filter(({ findings }) => findings.length > 0)
    .map(({ source, namespace, name, findings }) => {
      return `${source}: NetworkAttachmentDefinition ${namespace}/${name}\n${describeFindings(findings, terminal)}`;
    });
  return [...texts, summary(views)].join("\n");
}

function summary(views: readonly LintView[]): string {
  const findings = views.flatMap((view) => view.findings);
  const counts = (["error", "warning", "note"] as const).map((wanted) => {
    return counted(findings.filter(({ severity }) => severity === wanted).length, wanted);
  });
  return `${counted(views.length, "NetworkAttachmentDefinition")}: ${counts.join(", ")}\n`;
}
