import { NODE_MACS } from "../../api/kinds.ts";
import { BRIDGE_RESOURCE_PREFIX, NAD_GROUP } from "../../api/names.ts";
import type { NodeMACs } from "../../api/node-macs.ts";
import { isForbidden, isNotFound } from "../../kube/client/api-error.ts";
import { RESOURCES, type Resource } from "../../kube/client/resource.ts";
import { type Finding, finding, type Severity } from "../../nad-lint/finding.ts";
import { type ClusterFacts, lintNetwork } from "../../nad-lint/lint.ts";
import { segmentOfConfig } from "../../nad-lint/segment.ts";
import { plain } from "../backends/plain-text.ts";
import type { CommandInput, CommandSpec } from "../command.ts";
import { noArguments, switchOption, textOptions, UsageError } from "../command-line.ts";
import { type Manifest, readManifests } from "../manifests.ts";
import { type Colour, painted, type Terminal, wrapped } from "../terminal.ts";
import { formatViews } from "../views-text.ts";

export const lint: CommandSpec = {
  name: "lint",
  args: "-f PATH",
  summary: "what is wrong with NetworkAttachmentDefinitions in files",
  details: [
    "Reads them as the plugins bridge and tuning do, without a cluster, and says what will happen to pods and what to write " +
      "instead. Networks of other plugins are passed over. Ends with 1 where something is wrong.",
  ],
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
    const networks = networksIn(await readManifests(paths, process.stdin), line.options.namespace ?? "default");
    if (networks.length === 0) {
      return { stdout: "", stderr: `no NetworkAttachmentDefinition in ${paths.join(", ")}`, exitCode: 1 };
    }
    const cluster = switchOption(line, "nodes") ? await readNodes(input) : {};
    const views = plain(lintAll(networks, cluster));
    const isWrong = views.some(({ findings }) => findings.some(({ severity }) => severity !== "note"));
    return { stdout: formatViews(line, views) ?? describe(views, terminal), exitCode: isWrong ? 1 : 0 };
  },
};

interface Network {
  readonly source: string;
  readonly namespace: string;
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Undefined where it is not a text. */
  readonly config: string | undefined;
}

interface LintView extends Pick<Network, "source" | "namespace" | "name"> {
  readonly findings: readonly Finding[];
}

interface Nad {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly metadata?: { readonly name?: unknown; readonly namespace?: unknown; readonly annotations?: unknown } | null;
  readonly spec?: { readonly config?: unknown } | null;
}

function networksIn(manifests: readonly Manifest[], defaultNamespace: string): Network[] {
  return manifests.flatMap(({ source, object }) => {
    const { apiVersion, kind, metadata, spec } = (object ?? {}) as Nad;
    if (kind !== "NetworkAttachmentDefinition" || !String(apiVersion).startsWith(`${NAD_GROUP}/`)) return [];
    const config = spec?.config ?? "";
    const annotations = Object.entries(metadata?.annotations ?? {}).filter(([, value]) => typeof value === "string");
    return {
      source,
      namespace: textOf(metadata?.namespace) || defaultNamespace,
      name: textOf(metadata?.name),
      annotations: Object.fromEntries(annotations),
      config: typeof config === "string" ? config : undefined,
    };
  });
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

function lintAll(networks: readonly Network[], cluster: ClusterFacts): LintView[] {
  const segments = networks.map(({ config = "", name }) => segmentOfConfig(config, name));
  return networks.map(({ source, namespace, name, annotations, config }) => {
    const sameSegment = (segment: string): string | undefined => {
      const others = networks.filter((one, index) => segments[index] === segment && one.name !== name);
      const other = others.find((one) => one.namespace === namespace) ?? others[0];
      return other && `network ${other.namespace}/${other.name}`;
    };
    const surroundings = { ...cluster, sameSegment };
    const findings = config === undefined ? [notText()] : lintNetwork({ name, annotations, config }, surroundings);
    return { source, namespace, name, findings };
  });
}

function notText(): Finding {
  return finding(
    "config-unreadable",
    "spec.config is not a text: the API server refuses it. Write the JSON between quotes: config: '{...}'.",
  );
}

async function readNodes({ open, line }: CommandInput): Promise<ClusterFacts> {
  const cluster = await open();
  const options = { managedFields: false, timeoutMs: line.options.requestTimeoutMs };
  try {
    const { items } = await cluster.client.list(RESOURCES.nodes, options);
    const reports = await cluster.client.list(NODE_MACS as Resource as Resource<NodeMACs>, options).catch(nobodyKnows);
    const publishing = (bridge: string): string[] =>
      items
        .filter(({ status }) => (status?.capacity?.[BRIDGE_RESOURCE_PREFIX + bridge] ?? "0") !== "0")
        .map(({ metadata }) => metadata.name ?? "");
    return {
      nodesWith: (bridge) => ({ count: publishing(bridge).length, total: items.length }),
      bridgesOn: (bridge) => {
        const nodes = publishing(bridge);
        return reports?.items.flatMap(({ metadata: { name: node = "" }, bridges = [] }) =>
          nodes.includes(node)
            ? bridges.filter(({ name }) => name === bridge).map((found) => ({ node, ...found }))
            : [],
        );
      },
    };
  } catch (error) {
    throw cluster.describe(error);
  }
}

/** Of a user who may not list them, or a cluster without them. */
function nobodyKnows(error: unknown): undefined {
  if (!isForbidden(error) && !isNotFound(error)) throw error;
}

const COLOURS: Readonly<Record<Severity, Colour>> = { error: "red", warning: "yellow", note: "dim" };

function describe(views: readonly LintView[], terminal: Terminal): string {
  const texts = views
    .filter(({ findings }) => findings.length > 0)
    .map(({ source, namespace, name, findings }) => {
      const lines = findings.map(
        ({ code, severity, message }) =>
          `  ${painted(terminal, COLOURS[severity], severity)} ${code}\n${wrapped(terminal, message, 4)}`,
      );
      return `${source}: NetworkAttachmentDefinition ${namespace}/${name}\n${lines.join("")}`;
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

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
