import type { Finding } from "../../nad-lint/finding.ts";
import type { ClusterFacts } from "../../nad-lint/lint.ts";
import { plain } from "../backends/plain-text.ts";
import type { CommandInput, CommandSpec } from "../command.ts";
import { noArguments, switchOption, textOptions, UsageError } from "../command-line.ts";
import { CliError } from "../faults.ts";
import { counted, describeFindings } from "../findings-text.ts";
import { type Manifest, namespacesIn, readManifests } from "../manifests.ts";
import { lintNetworks, type Network, networkIn } from "../networks.ts";
import { missingNamespaces, networksOfCluster, poolsOfCluster } from "../networks-of-cluster.ts";
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
    { name: "nodes", summary: "also beside the cluster's nodes and networks" },
  ],
  run: async (input) => {
    const { line, terminal } = input;
    noArguments(line, "write -f PATH");
    const paths = textOptions(line, "filename");
    if (paths.length === 0) throw new UsageError("lint needs files: write -f FILE, -f DIRECTORY or -f -");
    const manifests = await readManifests(paths, process.stdin);
    const networks = manifests.flatMap((manifest) => {
      const network = networkIn(manifest, line.options.namespace ?? "default");
      return network === undefined ? [] : { source: manifest.source, ...network };
    });
    if (networks.length === 0) throw new CliError(`there is no NetworkAttachmentDefinition in ${paths.join(", ")}`);
    const inCluster = switchOption(line, "nodes") ? await readCluster(input, networks, manifests) : undefined;
    const findings = lintNetworks(networks, inCluster?.facts, [...networks, ...(inCluster?.others ?? [])]);
    const views = plain(
      networks.map(({ source, namespace, name }, index) => ({
        source,
        namespace,
        name,
        findings: findings[index] ?? [],
      })),
    );
    const isWrong = views.some(({ findings }) => findings.some(({ severity }) => severity !== "note"));
    return {
      stdout: formatViews(line, views) ?? describe(views, terminal),
      stderr: inCluster?.warnings.map(plain).join("\n") ?? "",
      exitCode: isWrong ? 1 : 0,
    };
  },
};

interface LintView extends Pick<Network, "namespace" | "name"> {
  readonly source: string;
  readonly findings: readonly Finding[];
}

async function readCluster(input: CommandInput, networks: readonly Network[], manifests: readonly Manifest[]) {
  const nodes = await nodesOf(input);
  const keys = new Set(networks.map(({ namespace, name }) => `${namespace}/${name}`));
  const known = await networksOfCluster(input, undefined);
  const brought = namespacesIn(manifests);
  const named = networks.map(({ namespace }) => namespace).filter((namespace) => !brought.includes(namespace));
  const pools = await poolsOfCluster(input.open, input.line.options.requestTimeoutMs, networks);
  return {
    facts: { ...nodes, ...pools },
    others: known.filter(({ namespace, name }) => !keys.has(`${namespace}/${name}`)),
    warnings: await missingNamespaces(input, named),
  };
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
