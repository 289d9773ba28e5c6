/** How bridges, networks and the nodes that have them are told, on the command line, on the page and in findings. Pure. */

const NUMBER = new Intl.NumberFormat("en");

const ALL = ["no node", "the only node", "both nodes"];

/** `412 of 1,000 nodes`, `all 3 nodes`, `the only node`, `no node`. */
export function nodesOf(some: number, total: number): string {
  if (some > 0 && some < total) return `${NUMBER.format(some)} of ${NUMBER.format(total)} nodes`;
  return ALL[some] ?? `all ${NUMBER.format(some)} nodes`;
}

/** `2 of 3 nodes have br1`, `the only node has br1`. */
export function nodesHave(some: number, total: number, what: string): string {
  return `${nodesOf(some, total)} ${some < 2 ? "has" : "have"} ${what}`;
}

/** `on node-b`, and of several `on 2 of 3 nodes, such as node-a`. */
export function onSuchNodes(names: readonly string[], total: number): string {
  const [first = ""] = names;
  return names.length === 1 ? `on ${first}` : `on ${nodesOf(names.length, total)}, such as ${first}`;
}

/** What happens to a VM of a network that lands on a node: in a word or two, and in whole. Its subject is the VM. */
export const VERDICT_TEXTS = {
  Works: { word: "starts", meaning: "starts" },
  Warning: { word: "starts with a warning", meaning: "starts, but not all is as the network says" },
  Fails: { word: "fails", meaning: "can't start, or gets no connection" },
  NotNow: { word: "not now", meaning: "is not sent there now" },
  NoBridge: { word: "no bridge", meaning: "is not sent there: no such bridge" },
  Unknown: { word: "not known", meaning: "not known" },
} as const;

/** `is not sent there now: the node is cordoned`. */
export const withReason = (meaning: string, reason: string | undefined): string =>
  reason === undefined ? meaning : `${meaning}: the node ${reason}`;

interface BridgePlace {
  readonly nodes: number;
  readonly totalNodes: number;
}

/** `on 412 of 1,000 nodes`. */
export const onNodes = ({ nodes, totalNodes }: BridgePlace): string => `on ${nodesOf(nodes, totalNodes)}`;

/** What is wrong with a bridge, besides what `onNodes` says. */
export const otherProblems = ({ nodes, problems }: { readonly nodes: number; readonly problems: readonly string[] }) =>
  nodes === 0 ? [] : problems;

/** Of who is on a network. */
export const USE_STATES = { running: "runs", starting: "is starting", waiting: "waits for a node" } as const;

interface Vlans {
  readonly vlan?: number;
  /** Ranges, such as `100-110,200`. */
  readonly trunk?: string;
}

/** `100`, `trunk 100-110`, `100, trunk 200`; empty for none. */
export function vlanText({ vlan, trunk }: Vlans): string {
  return [vlan, trunk === undefined ? undefined : `trunk ${trunk}`].filter((part) => part !== undefined).join(", ");
}
