import { nodesOf, USE_STATES, VERDICT_TEXTS, vlanText, withReason } from "../../api/network-text.ts";
import { waitingText } from "../../api/waiting-text.ts";
import type { NetworkUserView, NetworkView } from "../../mac-pool/inspection/rest/views.ts";
import { isUnknownToPool } from "../backends/rest-refusal.ts";
import type { CommandSpec } from "../command.ts";
import { oneArgument, UsageError } from "../command-line.ts";
import { CliError } from "../faults.ts";
import { describeFindings } from "../findings-text.ts";
import { nodesText } from "../network-text.ts";
import { withCommas } from "../quantities.ts";
import { type Column, formatFields, formatTable, tableOptions } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { formatViews, networkNameOf } from "../views-text.ts";

/** Of more nodes, those are shown that have a VM or where none can start; all of them with -o wide. */
const MAX_NODES = 16;
/** With -o wide, all that the pool tells. */
const MAX_USERS = 16;

export const network: CommandSpec = {
  name: "network",
  args: "NAME",
  summary: "one network: node by node, and what is wrong",
  details: [
    "NAME is NAME or NAMESPACE/NAME of a NetworkAttachmentDefinition.",
    "Says what happens to a VM of the network on each node, who uses it, and what the lint finds. Of more than 16 nodes it shows " +
      "those with VMs, and those with the bridge where not all is well, and of more than 16 VMs and pods the first; -o wide shows all.",
  ],
  examples: ["kubectl macpool network lab/blue", "kubectl macpool network blue -n lab -o wide"],
  offers: "networks",
  run: async (input) => {
    const { line, terminal } = input;
    const wanted = oneArgument(line, "the name of a NetworkAttachmentDefinition");
    const [first = "", second, ...more] = wanted.split("/");
    if (more.length > 0 || second === "" || first === "") {
      throw new UsageError(`${JSON.stringify(wanted)} is no name: write NAME or NAMESPACE/NAME`);
    }
    const namespace = second === undefined ? await input.namespace() : first;
    if (namespace === undefined) {
      throw new UsageError("network needs a namespace: write NAMESPACE/NAME, or -n in place of -A");
    }
    const view = await input.ask((backend) => backend.network(namespace, second ?? first)).catch(notFound);
    if (view instanceof CliError) {
      return { stdout: "", stderr: `error: ${view.message}`, exitCode: 2, emptyIn: namespace };
    }
    const formatted = formatViews(line, view, [networkNameOf(view)]);
    return { stdout: formatted ?? describe(view, line.options, terminal), exitCode: 0 };
  },
};

function notFound(error: unknown): CliError {
  if (isUnknownToPool(error)) return error;
  throw error;
}

function describe(view: NetworkView, options: Parameters<typeof tableOptions>[0], terminal: Terminal): string {
  const { namespace, name, cells, findings } = view;
  const shown = options.output === "wide" || cells.length <= MAX_NODES ? cells : cells.filter(isTold);
  const columns: Column<NetworkView["cells"][number]>[] = [
    { header: "NODE", cell: ({ node }) => node, cut: true },
    { header: "RUNNING", cell: ({ running }) => withCommas(running) },
    { header: "A VM THERE", cell: meaningOf, cut: true },
  ];
  const table = shown.length === 0 ? "" : `\n${formatTable(columns, shown, tableOptions(options, terminal))}`;
  const left = cells.length - shown.length;
  const others = left === 0 ? "" : `${withCommas(left)} other nodes without VMs: -o wide shows them.\n`;
  const wrong = findings.length === 0 ? "" : `\n${describeFindings(findings, terminal)}`;
  const users = describeUsers(view, options, terminal);
  return `Network ${namespace}/${name}\n${formatFields(fieldsOf(view), terminal)}${table}${others}${users}${wrong}`;
}

const KINDS: Readonly<Record<NetworkUserView["kind"], string>> = {
  VirtualMachine: "VM",
  VirtualMachineInstance: "VMI",
  Pod: "pod",
};

function describeUsers(
  { users = [], moreUsers = 0 }: NetworkView,
  options: Parameters<typeof tableOptions>[0],
  terminal: Terminal,
): string {
  if (users.length === 0) return "";
  const shown = options.output === "wide" ? users : users.slice(0, MAX_USERS);
  const columns: Column<NetworkUserView>[] = [
    { header: "VM OR POD", cell: ({ kind, namespace, name }) => `${KINDS[kind]} ${namespace}/${name}`, cut: true },
    { header: "STATE", cell: ({ state }) => USE_STATES[state], cut: true },
    { header: "NODE", cell: ({ node = "" }) => node, cut: true },
  ];
  const left = users.length - shown.length + moreUsers;
  const others =
    left === 0 ? "" : `${withCommas(left)} more.${users.length > shown.length ? " -o wide shows more." : ""}\n`;
  return `\n${formatTable(columns, shown, tableOptions(options, terminal))}${others}`;
}

const isTold = ({ running, verdict }: NetworkView["cells"][number]): boolean =>
  running > 0 || verdict === "Warning" || verdict === "Fails" || verdict === "NotNow";

const meaningOf = ({ verdict, reason }: NetworkView["cells"][number]): string =>
  withReason(VERDICT_TEXTS[verdict].meaning, reason);

function fieldsOf(view: NetworkView): (readonly [string, string])[] {
  const { bridge, type, mtu, spoofCheck, resource, running, pods, usedBy, pending, starting, waiting, nodes } = view;
  const vlan = vlanText(view);
  const ofBridge: (readonly [string, string])[] =
    bridge === undefined
      ? []
      : [
          ["bridge", `${bridge}, on ${nodesOf(nodes.withBridge, nodes.total)}`],
          ["VLAN", vlan === "" ? "none" : vlan],
          ["MTU", mtu === undefined ? "1500 at most" : String(mtu)],
          ["spoof check", spoofCheck ? "on" : "off"],
        ];
  const startingText = starting === 0 ? "" : `, ${withCommas(starting)} starting`;
  return [
    ["plugin", type ?? "not known"],
    ...ofBridge,
    ["resource", resource ?? "none"],
    [
      "VMs",
      `${withCommas(running)} running${startingText}${pending === 0 ? "" : `; ${waitingText(pending, waiting)}`}`,
    ],
    ...(pods === 0 ? [] : ([["pods", withCommas(pods)]] as const)),
    ["used by", usedBy.length === 0 ? "nobody" : usedBy.join(", ")],
    ["a VM", nodesText(view) || "is sent to no node"],
  ];
}
