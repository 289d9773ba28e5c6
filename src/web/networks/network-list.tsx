import { onNodes, otherProblems } from "../../api/network-text.ts";
import { counted } from "../text.ts";
import type { BridgeGroup } from "./bridge-groups.ts";
import { NetworkLink } from "./network-link.tsx";
import { BridgeExceptions, NodesSummary } from "./nodes-summary.tsx";
import { filteringText, mtuText, vlanText } from "./settings.ts";
import { WhatIsWrong } from "./what-is-wrong.tsx";

/** What the table shows, for a narrow screen. */
export function NetworkList({ groups }: { readonly groups: readonly BridgeGroup[] }) {
  return (
    <ul class="cards" aria-label="Networks">
      {groups.map(({ name, bridge, networks }) => (
        <li key={name ?? ""} class={bridge?.problems.length ? "card warn" : "card"}>
          <h2>
            {name ?? "Without a bridge"} {bridge !== undefined && <small>{onNodes(bridge)}</small>}
          </h2>
          {bridge !== undefined && (
            <p class="quiet">
              {[
                filteringText(bridge),
                bridge.mtus.length > 0 && `MTU ${bridge.mtus.join(", ")}`,
                bridge.uplink && `uplink ${bridge.uplink}`,
                counted(bridge.running, "running VM"),
              ]
                .filter(Boolean)
                .join(", ")}
            </p>
          )}
          {bridge !== undefined && <BridgeExceptions bridge={bridge} />}
          {(bridge === undefined ? [] : otherProblems(bridge)).map((problem) => (
            <p key={problem} class="warn">
              {problem}
            </p>
          ))}
          {bridge?.notes.map((note) => (
            <p key={note}>{note}</p>
          ))}
          <ul class="of-bridge">
            {networks.map((network) => (
              <li key={`${network.namespace}/${network.name}`}>
                <h3>
                  <NetworkLink network={network} />
                </h3>
                <p class="quiet">
                  {network.bridge !== undefined && `VLAN ${vlanText(network)}, MTU ${mtuText(network)}, `}
                  {network.bridge === undefined && network.type !== undefined && `plugin ${network.type}, `}
                  {counted(network.running, "running VM")}
                  {network.usedBy.length > 0 && `, used by ${network.usedBy.join(", ")}`}
                </p>
                <NodesSummary network={network} />
                <WhatIsWrong network={network} />
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  );
}
