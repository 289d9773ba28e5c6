import { waitingText } from "../../../api/waiting-text.ts";
import type { FindingCode } from "../../../nad-lint/finding.ts";
import type { FindingView } from "../rest/consistency-views.ts";
import type { BridgeView, NetworkFindingView, NetworkView } from "../rest/network-views.ts";
import { mtusDiffer } from "./bridge-view.ts";
import type { BridgeOnNodes } from "./node-bridges.ts";
import { uplinkFindings } from "./uplinks.ts";

/** What is wrong with networks and bridges, in the words of the answers about them. */

/** Until the networks are known. */
export const NETWORKS_UNKNOWN: FindingView = {
  code: "NETWORKS_UNKNOWN",
  message: "This replica does not know the networks yet: what is wrong with them is not told.",
  advice: "Ask again. If this stays, look at the log of the MAC pool.",
};

/** Of one bridge. Where no network uses it, what its own answer calls wrong. */
export function bridgeProblems(
  { name: bridge, networks, problems, mtus }: BridgeView,
  on?: BridgeOnNodes,
): FindingView[] {
  const ofUplinks = on === undefined ? [] : uplinkFindings(on);
  const told = ofUplinks.filter(({ summary }) => networks > 0 || problems.includes(summary));
  const mtu = mtusDiffer(mtus);
  return [
    ...told.map((one) => bridgeFinding(bridge, one.summary, one.message)),
    ...(mtu === undefined ? [] : [bridgeFinding(bridge, mtu, setAlike(bridge))]),
  ];
}

function bridgeFinding(bridge: string, summary: string, advice: string): FindingView {
  return { code: "BRIDGE_FAULTY", bridge, message: `Bridge ${bridge}: ${summary}.`, advice };
}

const setAlike = (bridge: string): string =>
  `Set its MTU alike on all nodes: kubectl macpool networks ${bridge} shows the nodes, and docs/guide/prepare-nodes.md how.`;

/** Networks that share a fault, as on one bridge, have one entry. */
export class NetworkProblems {
  readonly #faulty = new Map<
    string,
    { readonly first: NetworkView; readonly one: NetworkFindingView; count: number }
  >();
  readonly #waiting = new Map<string, FindingView>();

  add(network: NetworkView): void {
    for (const one of network.findings) {
      if (one.code.startsWith(UPLINK) || one.code === SAME_NETWORK) continue;
      const key = `${one.code} ${one.message}`;
      const known = this.#faulty.get(key);
      if (known === undefined) this.#faulty.set(key, { first: network, one, count: 1 });
      else known.count += 1;
    }
    const { namespace, name, pending, waiting } = network;
    const [first] = waiting;
    if (first === undefined) return;
    const message = `${waitingText(pending, waiting)}.`;
    const [of, vm] = first.split("/");
    const advice = `kubectl macpool explain ${vm} -n ${of} says why.`;
    // A VM on several networks waits once.
    if (this.#waiting.has(message)) return;
    this.#waiting.set(message, { code: "VM_WAITS_FOR_NODE", network: { namespace, name }, message, advice });
  }

  *findings(): Generator<FindingView> {
    yield* this.#waiting.values();
    for (const { first, one, count } of this.#faulty.values()) {
      const { namespace, name } = first;
      const others = count === 1 ? "" : ` and ${count - 1} more`;
      const message = `Network ${namespace}/${name}${others}: ${one.summary}.`;
      yield { code: "NETWORK_FAULTY", network: { namespace, name }, message, advice: one.message };
    }
  }
}

/** The bridge has those of its uplinks. */
const UPLINK = "uplink-";
/** Most clusters have several networks on one segment, because they mean to: no frame is lost. */
const SAME_NETWORK: FindingCode = "same-network";
