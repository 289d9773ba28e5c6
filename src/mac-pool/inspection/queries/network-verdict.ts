import { bridgeResource } from "../../../api/bridge-resource.ts";
import { notNowBecause } from "../../../api/landing.ts";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../../../api/names.ts";
import type { Finding, FindingCode } from "../../../nad-lint/finding.ts";
import { lintNetwork } from "../../../nad-lint/lint.ts";
import { verdictOnNode } from "../../../nad-lint/node-checks.ts";
import type { bridgeOfConfig } from "../../../nad-lint/segment.ts";
import type { Verdict } from "../rest/network-views.ts";
import type { BridgeOnNodes, NodeGroup } from "./node-bridges.ts";

/** What a network tells the plugin. */
export type BridgeConfig = NonNullable<ReturnType<typeof bridgeOfConfig>>;

/** A network as its object says, and what the first bridge plugin is told; undefined for another plugin, or where it refuses. */
export interface ReadNetwork {
  readonly name: string;
  /** Undefined where it is too long to be looked at. */
  readonly config: string | undefined;
  readonly resource: string | undefined;
  readonly bridge: BridgeConfig | undefined;
}

export interface JudgedNetwork {
  /** As admission would warn of them. */
  readonly findings: readonly Finding[];
  /** In the order of the bridge's groups of nodes; Unknown where there is none. */
  readonly byGroup: readonly Verdict[];
  /** On nodes that do not publish the bridge. */
  readonly elsewhere: Verdict;
}

/** With these, no pod of the network starts where it should. */
const FAILS: ReadonlySet<FindingCode> = new Set([
  "config-unreadable",
  "plugin-refuses",
  "ipam-refuses",
  "address-refused",
  "route-refused",
  "resource-differs",
]);

/** With these, pods start and lose frames. */
const MISLEADS: ReadonlySet<FindingCode> = new Set(["mac-in-network", "vlan-in-trunk"]);

/** Of a network that nobody looks at. */
export const UNKNOWN: JudgedNetwork = { findings: [], byGroup: [], elsewhere: "Unknown" };

/** What happens to pods of a network on the nodes. `other`: another network on the same bridge and VLAN, as a message names it. */
export function judgeNetwork(
  network: ReadNetwork,
  on: BridgeOnNodes | undefined,
  total: number,
  other: string | undefined,
): JudgedNetwork {
  const { name, config, resource, bridge } = network;
  if (config === undefined) return UNKNOWN;
  const annotations = resource === undefined ? {} : { [NAD_RESOURCE_NAME_ANNOTATION]: resource };
  // A refused plugin, or another one of a list, names a bridge of which nothing was read.
  const isRead = (name: string): boolean => name === bridge?.bridge;
  const facts = {
    nodesWith: (name: string) => (total > 0 && isRead(name) ? { having: on?.on ?? [], total } : undefined),
    bridgesOn: (name: string) => (isRead(name) ? (on?.on ?? []) : undefined),
    sameSegment: () => other,
  };
  const findings = lintNetwork({ name, annotations, config }, facts).filter(({ severity }) => severity !== "note");
  const groups = on?.groups ?? [];
  const everywhere = (verdict: Verdict): JudgedNetwork => ({
    findings,
    byGroup: groups.map(() => verdict),
    elsewhere: verdict,
  });
  if (findings.some(({ code }) => FAILS.has(code))) return everywhere("Fails");
  if (bridge === undefined) return everywhere("Unknown");
  const isMistaken = findings.some(({ code }) => MISLEADS.has(code));
  return {
    findings,
    byGroup: groups.map((group) => {
      const verdict = verdictOnNode(bridge, { node: group.nodes[0] ?? "", ...group.bridge });
      if (verdict !== "Fails" && notNowOf(network, group) !== undefined) return "NotNow";
      return isMistaken && verdict === "Works" ? "Warning" : verdict;
    }),
    elsewhere: verdictWithoutBridge(bridge, resource),
  };
}

/** Why no VM of the network lands on these nodes now. The scheduler looks for the resource of a network that names one. */
export function notNowOf({ bridge, resource }: ReadNetwork, group: Pick<NodeGroup, "states" | "publishes">) {
  const name = bridge?.bridge ?? "";
  const publishes = group.publishes || resource !== bridgeResource(name);
  return notNowBecause(name, { ...group, publishes });
}

/** With a gateway the plugin makes the bridge. By the resource, the scheduler sends no pod there. */
function verdictWithoutBridge(config: BridgeConfig, resource: string | undefined): Verdict {
  if (config.addressing?.gateway === true) return "Works";
  const named = bridgeResource(config.bridge);
  return named !== undefined && resource === named ? "NoBridge" : "Fails";
}
