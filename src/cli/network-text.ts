import { VERDICT_TEXTS, vlanText } from "../api/network-text.ts";
import { waitingText } from "../api/waiting-text.ts";
import type { NetworkView } from "../mac-pool/inspection/rest/views.ts";
import { counted } from "./findings-text.ts";
import { withCommas } from "./quantities.ts";

/** What networks and bridges are told as. */

type Verdict = NetworkView["cells"][number]["verdict"];

const MAX_EXCEPTIONS = 8;

/** What stands behind the number of VMs in a cell. */
const MARKS: Readonly<Record<Verdict, string>> = {
  Works: "",
  Warning: " !",
  Fails: " x",
  NotNow: " ~",
  NoBridge: " -",
  Unknown: " ?",
};

export const LEGEND =
  `Under a node: how many VMs run there. !: a VM ${VERDICT_TEXTS.Warning.meaning}. x: a VM ${VERDICT_TEXTS.Fails.meaning}. ` +
  "~: the node takes no VM now. ?: not known. -: the node has no such bridge, and no VM is sent there. In other columns, -: none.";

/** `7`, `1 !`, `0 x`; empty where no VM is sent. */
export function cellText(cell: NetworkView["cells"][number] | undefined): string {
  if (cell === undefined || (cell.verdict === "NoBridge" && cell.running === 0)) return "";
  return `${withCommas(cell.running)}${MARKS[cell.verdict]}`;
}

/** `starts on 410 of 1,000, fails on 2`, of the nodes where a VM may land. `not now on 1 of 3` where none takes it now. */
export function nodesText({ nodes }: Pick<NetworkView, "nodes">): string {
  const parts = [
    [nodes.works, "Works"],
    [nodes.warning, "Warning"],
    [nodes.fails, "Fails"],
    [nodes.notNow, "NotNow"],
    [nodes.unknown, "Unknown"],
  ] as const;
  const told = parts.filter(([count]) => count > 0);
  return told
    .map(([count, verdict], index) => {
      const total = index === 0 ? ` of ${withCommas(nodes.total)}` : "";
      return `${VERDICT_TEXTS[verdict].word} on ${withCommas(count)}${total}`;
    })
    .join(", ");
}

/** `VLAN 100`, `VLAN 100, trunk 200-210`; empty for none. */
export function vlansOf(view: Pick<NetworkView, "vlan" | "trunk">): string {
  const text = vlanText(view);
  return view.vlan === undefined ? text : `VLAN ${text}`;
}

/** In a few words: what the lint finds, and who waits. `isFolded`: nodes have no columns, so exceptions are named. */
export function problemText(network: NetworkView, isFolded: boolean): string {
  const { findings, moreFindings, pending, waiting, starting } = network;
  const exceptions = isFolded ? exceptionsOf(network) : [];
  return [
    ...new Set(findings.map(({ summary }) => summary)),
    ...(moreFindings > 0 ? [`${moreFindings} more`] : []),
    ...exceptions,
    ...(pending === 0 ? [] : [waitingText(pending, waiting)]),
    ...(starting === 0 ? [] : [`${counted(starting, "VM")} ${starting === 1 ? "is" : "are"} starting`]),
  ].join(", ");
}

/** Nodes where not all is well, unless that is the same on all. */
function exceptionsOf({ cells, nodes }: NetworkView): string[] {
  const isSame = [nodes.works, nodes.warning, nodes.fails].filter((count) => count > 0).length < 2;
  const bad = isSame ? [] : cells.filter(({ verdict }) => verdict === "Warning" || verdict === "Fails");
  return bad.slice(0, MAX_EXCEPTIONS).map(({ node, verdict }) => `${node} ${verdict === "Fails" ? "fails" : "warns"}`);
}
