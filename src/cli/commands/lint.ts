import { BRIDGE_RESOURCE_PREFIX, NAD_GROUP } from "../../api/names.ts";
import { RESOURCES } from "../../kube/client/resource.ts";
import { type Finding, finding, type Severity } from "../../nad-lint/finding.ts";
import { lintNetwork, type Surroundings } from "../../nad-lint/lint.ts";
import { segmentOfConfig } from "../../nad-lint/segment.ts";
import type { CommandInput, CommandSpec } from "../command.ts";
import { noArguments, switchOption, textOptions, UsageError } from "../command-line.ts";
import { plain } from "../doors/plain-text.ts";
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
    { name: "nodes", summary: "also whether nodes of the cluster have the bridges" },
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
    const nodesWith = switchOption(line, "nodes") ? await countNodes(input) : undefined;
    const views = plain(lintAll(networks, nodesWith));
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

function lintAll(networks: readonly Network[], nodesWith: Surroundings["nodesWith"]): LintView[] {
  const segments = networks.map(({ config = "", name }) => segmentOfConfig(config, name));
  return networks.map(({ source, namespace, name, annotations, config }) => {
    const sameSegment = (segment: string): string | undefined => {
      const other = networks.find(
        (one, index) => segments[index] === segment && one.namespace === namespace && one.name !== name,
      );
      return other && `${namespace}/${other.name}`;
    };
    const surroundings = { sameSegment, ...(nodesWith && { nodesWith }) };
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

async function countNodes({ open, line }: CommandInput): Promise<NonNullable<Surroundings["nodesWith"]>> {
  const cluster = await open();
  const { requestTimeoutMs: timeoutMs } = line.options;
  try {
    const { items } = await cluster.client.list(RESOURCES.nodes, { managedFields: false, timeoutMs });
    return (bridge) => {
      const amounts = items.map(({ status }) => status?.capacity?.[BRIDGE_RESOURCE_PREFIX + bridge] ?? "0");
      return { count: amounts.filter((amount) => amount !== "0").length, total: items.length };
    };
  } catch (error) {
    throw cluster.describe(error);
  }
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
