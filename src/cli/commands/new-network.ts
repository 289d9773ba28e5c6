import { bridgeResource } from "../../api/bridge-resource.ts";
import { NETWORK_ATTACHMENT_DEFINITIONS } from "../../api/kinds.ts";
import { nodeText } from "../../api/landing.ts";
import { isNamespaceName, isObjectName, MAX_LABEL, MAX_SUBDOMAIN } from "../../api/legal-names.ts";
import { nodesHave } from "../../api/network-text.ts";
import { isForbidden } from "../../kube/client/api-error.ts";
import { objectYaml } from "../../kube/client/object-yaml.ts";
import { plain } from "../backends/plain-text.ts";
import type { CommandInput, CommandSpec } from "../command.ts";
import { type CommandLine, numberOption, oneArgument, switchOption, textOption, UsageError } from "../command-line.ts";
import { CliError, withoutKubeconfig } from "../faults.ts";
import { type NetworkRequest, networkManifest, type TrunkRange } from "../network-manifest.ts";
import { lintNetworks } from "../networks.ts";
import { missingNamespaces, networksOfCluster } from "../networks-of-cluster.ts";
import { type NodesWithBridges, readNodes } from "../nodes-with-bridges.ts";

export const newNetwork: CommandSpec = {
  name: "new-network",
  args: "NAME",
  summary: "prints a network of VMs for kubectl apply",
  details: [
    "Prints a NetworkAttachmentDefinition and writes nothing into the cluster. On stderr it says which nodes have the bridge, and " +
      "what the lint finds, also beside the other networks of the cluster. With --vlan or --trunk, pods start only where the bridge filters VLANs.",
    "Ends with 1 where the lint finds an error.",
  ],
  examples: [
    "kubectl macpool new-network blue --bridge br1 --vlan 100",
    "kubectl macpool new-network blue --bridge br1 -n lab | kubectl apply -f -",
    "kubectl macpool new-network all --bridge br1 --vlan 5 --trunk 100-110,200",
  ],
  options: [
    { name: "bridge", value: "NAME", summary: "the Linux bridge of the nodes; must be given" },
    { name: "vlan", value: "VLAN", summary: "VLAN of the untagged frames of VMs" },
    { name: "trunk", value: "VLANS", summary: "VLANs that VMs tag themselves: 100-110,200" },
    { name: "mtu", value: "MTU", summary: "of the interfaces; inherit: that of the bridge" },
    { name: "spoof-check", summary: "drops frames whose MAC is not the interface's" },
  ],
  run: async (input) => {
    const request = requestOf(input.line);
    const manifest = networkManifest(request);
    const namespace = request.namespace ?? (await input.namespace().catch(withoutKubeconfig)) ?? "default";
    const [{ nodes, sentence }, others, missing] = await Promise.all([
      nodesWith(request.bridge, input),
      networksOfCluster(input, namespace),
      missingNamespaces(input, request.namespace === undefined ? [] : [request.namespace]),
    ]);
    const { annotations } = manifest.metadata;
    const network = { namespace, name: request.name, annotations, config: manifest.spec.config };
    const [findings = []] = lintNetworks([network], nodes ?? {}, others);
    const said = findings.map(({ severity, message }) => `${severity}: ${message}`);
    return {
      stdout: printed(input.line, manifest),
      stderr: [sentence, ...missing, ...said].map(plain).join("\n"),
      exitCode: findings.some(({ severity }) => severity === "error") ? 1 : 0,
    };
  },
};

function printed({ options: { output } }: CommandLine, manifest: ReturnType<typeof networkManifest>): string {
  if (typeof output === "function") return output(manifest);
  if (output === "json") return `${JSON.stringify(manifest, null, 2)}\n`;
  const { kind, group } = NETWORK_ATTACHMENT_DEFINITIONS;
  if (output === "name") return `${kind.toLowerCase()}.${group}/${manifest.metadata.name}\n`;
  return objectYaml(manifest, { lineWidth: 0 });
}

const MAX_BRIDGE = 15;
const [MIN_MTU, MAX_MTU] = [68, 65_535];
const MAX_VLAN = 4094;

function requestOf(line: CommandLine): NetworkRequest {
  const name = oneArgument(line, "the name of the network");
  if (!isObjectName(name)) {
    throw new UsageError(
      `${JSON.stringify(name)} can't be the name of a network: write at most ${MAX_SUBDOMAIN} small letters, digits, "-" and "."`,
    );
  }
  const { namespace, allNamespaces } = line.options;
  if (allNamespaces) throw new UsageError("new-network makes one network: write -n NAMESPACE in place of -A");
  if (namespace !== undefined && !isNamespaceName(namespace)) {
    throw new UsageError(
      `${JSON.stringify(namespace)} can't be the name of a namespace: write at most ${MAX_LABEL} small letters, digits and "-"`,
    );
  }
  const vlan = numberOption(line, "vlan", 1, MAX_VLAN);
  const trunk = trunkOf(textOption(line, "trunk"));
  if (vlan !== undefined && trunk.some(({ from, to }) => from <= vlan && vlan <= to)) {
    throw new UsageError(
      `VLAN ${vlan} is in --vlan and in --trunk, and can't be untagged and tagged: take it out of one`,
    );
  }
  const bridge = bridgeOf(textOption(line, "bridge"));
  return { name, namespace, bridge, vlan, trunk, mtu: mtuOf(line), spoofCheck: switchOption(line, "spoof-check") };
}

function bridgeOf(bridge: string | undefined): string {
  if (bridge === undefined) throw new UsageError("new-network needs a bridge of the nodes: write --bridge NAME");
  if (bridge.length > MAX_BRIDGE) {
    throw new UsageError(
      `--bridge ${JSON.stringify(bridge)} is longer than ${MAX_BRIDGE} characters, the most of a link`,
    );
  }
  if (bridgeResource(bridge) === undefined) {
    throw new UsageError(
      `--bridge ${JSON.stringify(bridge)} can't be published by nodes: a bridge has a name of letters, digits and "-"`,
    );
  }
  return bridge;
}

function trunkOf(text: string | undefined): TrunkRange[] {
  if (text === undefined) return [];
  return text.split(",").map((part) => {
    const [, first = "", last = first] = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(part) ?? [];
    const [from, to] = [Number(first), Number(last)];
    if (first === "" || from < 1 || to > MAX_VLAN || from > to) {
      throw new UsageError(
        `--trunk ${JSON.stringify(part)} is no VLAN and no range: write 100 or 100-110, from 1 to ${MAX_VLAN}`,
      );
    }
    return { from, to };
  });
}

function mtuOf(line: CommandLine): NetworkRequest["mtu"] {
  return textOption(line, "mtu") === "inherit" ? "inherit" : numberOption(line, "mtu", MIN_MTU, MAX_MTU);
}

const MAX_NODES = 10;

/** Which nodes have the bridge, in a sentence. What can't be known is no reason not to print the network. */
async function nodesWith(
  bridge: string,
  input: CommandInput,
): Promise<{ readonly nodes?: NodesWithBridges; readonly sentence: string }> {
  let described: unknown;
  try {
    const cluster = await input.open();
    try {
      const nodes = await readNodes(cluster.client, input.line.options.requestTimeoutMs);
      return { nodes, sentence: sentenceOf(bridge, nodes) };
    } catch (error) {
      if (isForbidden(error)) return { sentence: await toldSentence(bridge, input) };
      described = cluster.describe(error);
    }
  } catch (error) {
    described = error;
  }
  if (!(described instanceof CliError)) throw described;
  return { sentence: `could not look at nodes: ${described.message}` };
}

/** By what the pool's service tells a user who may not list nodes. */
async function toldSentence(bridge: string, { ask, namespace }: CommandInput): Promise<string> {
  try {
    const bridges = await ask(async (backend) => backend.bridges(await namespace()));
    const told = bridges.find(({ name }) => name === bridge);
    if (told !== undefined)
      return describeNodes(
        bridge,
        told.on.map(({ node, notNow }) => (notNow === undefined ? node : `${node}, which ${notNow}`)),
        told.nodes,
        told.totalNodes,
      );
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
  }
  return `which nodes have ${bridge} is not visible to you: needs list on nodes`;
}

function sentenceOf(bridge: string, nodes: NodesWithBridges): string {
  const { having, total } = nodes.nodesWith(bridge);
  return describeNodes(bridge, having.map(nodeText), having.length, total);
}

/** `names`: of some of the nodes that have it, or of all. */
function describeNodes(bridge: string, names: readonly string[], having: number, total: number): string {
  const shown = names.slice(0, MAX_NODES);
  const more = having - shown.length;
  const list = shown.length === 0 ? "" : `: ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  return `${nodesHave(having, total, bridge)}${list}`;
}
