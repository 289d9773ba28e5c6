import { Fragment } from "preact";
import { onNodes, otherProblems, VERDICT_TEXTS, withReason } from "../../api/network-text.ts";
import type { BridgeView, NetworkView } from "../../mac-pool/inspection/rest/views.ts";
import { ScrollRegion } from "../parts/scroll-region.tsx";
import { count, counted } from "../text.ts";
import type { BridgeGroup } from "./bridge-groups.ts";
import { NetworkLink } from "./network-link.tsx";
import { BridgeExceptions, NodesSummary } from "./nodes-summary.tsx";
import { differences, filteringText, keyOf, mtuText, vlanText } from "./settings.ts";
import { WhatIsWrong } from "./what-is-wrong.tsx";

/** Of more nodes the names stand upright. */
const MANY = 8;

interface Props {
  readonly groups: readonly BridgeGroup[];
  /** Undefined: one column for all nodes. */
  readonly nodes: readonly string[] | undefined;
}

/** Bridges, under each its networks, and what happens to a VM of them on which node. */
export function NetworkTable({ groups, nodes }: Props) {
  const isMany = nodes !== undefined && nodes.length > MANY;
  const hasRoom = nodes !== undefined && !isMany;
  return (
    <ScrollRegion label="Networks">
      <table class={isMany ? "networks many" : "networks"}>
        <caption class="unseen">Bridges, their networks, and the VMs that run on which node</caption>
        <thead>
          <tr>
            <th scope="col">Bridge, network</th>
            <th scope="col">VLAN</th>
            <th scope="col">MTU</th>
            <th scope="col">Uplink</th>
            {hasRoom && <th scope="col">Used by</th>}
            {nodes === undefined && (
              <>
                <th scope="col" class="right">
                  VMs
                </th>
                <th scope="col">Nodes</th>
              </>
            )}
            {nodes?.map((node) => (
              <th scope="col" key={node} class="node" title={node}>
                <Parts of={node.split(/(?<=\.)/)} gap="" />
              </th>
            ))}
            <th scope="col">What is wrong</th>
          </tr>
        </thead>
        {groups.map((group) => (
          <tbody key={group.name ?? ""}>
            <BridgeRow group={group} nodes={nodes} hasRoom={hasRoom} />
            {group.networks.map((network) => (
              <NetworkRow
                key={`${network.namespace}/${network.name}`}
                network={network}
                nodes={nodes}
                hasRoom={hasRoom}
              />
            ))}
          </tbody>
        ))}
      </table>
    </ScrollRegion>
  );
}

/** Each part keeps its line. */
function Parts({ of, gap }: { readonly of: readonly string[]; readonly gap: "" | " " }) {
  return (
    <>
      {of.map((part, index) => (
        <Fragment key={`${index} ${part}`}>
          <span class="whole" title={part}>
            {part}
          </span>
          {gap}
        </Fragment>
      ))}
    </>
  );
}

/** Up to the last, each with the separator behind it. */
const withCommas = (texts: readonly string[]): string[] =>
  texts.map((text, index) => (index < texts.length - 1 ? `${text},` : text));

interface BridgeRowProps {
  readonly group: BridgeGroup;
  readonly nodes: Props["nodes"];
  /** For words in the columns of nodes, and for one more column. */
  readonly hasRoom: boolean;
}

function BridgeRow({ group: { name, bridge }, nodes, hasRoom }: BridgeRowProps) {
  return (
    <tr class="bridge">
      <th scope="rowgroup">
        {name ?? "Without a bridge"} {bridge !== undefined && <small>{onNodes(bridge)}</small>}
      </th>
      <td>{bridge && filteringText(bridge)}</td>
      <td>{bridge?.mtus.join(", ")}</td>
      <td>{bridge?.uplink}</td>
      {hasRoom && <td />}
      {nodes === undefined && (
        <>
          <td class="right">{bridge && count(bridge.running)}</td>
          <td>{bridge && <BridgeExceptions bridge={bridge} />}</td>
        </>
      )}
      {nodes?.map((node) => (
        <BridgeCell key={node} bridge={bridge} node={node} hasRoom={hasRoom} />
      ))}
      <td>
        {bridge !== undefined && <p class="warn">{otherProblems(bridge).join("; ")}</p>}
        {bridge?.notes.map((note) => (
          <p key={note}>{note}</p>
        ))}
        {bridge !== undefined && nodes !== undefined && !hasRoom && <BridgeExceptions bridge={bridge} />}
      </td>
    </tr>
  );
}

interface BridgeCellProps {
  readonly bridge: BridgeView | undefined;
  readonly node: string;
  readonly hasRoom: boolean;
}

function BridgeCell({ bridge, node, hasRoom }: BridgeCellProps) {
  const on = bridge?.on.find((one) => one.node === node);
  if (bridge === undefined || on === undefined) {
    return (
      <td class="node quiet">
        {bridge !== undefined && (
          <>
            <span aria-hidden="true">–</span>
            <span class="unseen">not there</span>
          </>
        )}
      </td>
    );
  }
  return (
    <td class="node">
      {count(on.running)} {hasRoom && <small>{differences(bridge, on)}</small>}
    </td>
  );
}

interface NetworkRowProps {
  readonly network: NetworkView;
  readonly nodes: Props["nodes"];
  readonly hasRoom: boolean;
}

function NetworkRow({ network, nodes, hasRoom }: NetworkRowProps) {
  const cells = new Map(network.cells.map((cell) => [cell.node, cell]));
  return (
    <tr>
      <th scope="row">
        <NetworkLink network={network} />
        {network.bridge === undefined && network.type !== undefined && <small> plugin {network.type}</small>}
      </th>
      <td>
        <Parts of={vlanText(network).split(/(?<=,) ?/)} gap=" " />
      </td>
      <td>{mtuText(network)}</td>
      <td />
      {hasRoom && (
        <td>
          <Parts of={withCommas(network.usedBy)} gap=" " />
        </td>
      )}
      {nodes === undefined && (
        <>
          <td class="right">{count(network.running)}</td>
          <td>
            <NodesSummary network={network} />
          </td>
        </>
      )}
      {nodes?.map((node) => (
        <NodeCell key={node} cell={cells.get(node)} />
      ))}
      <td>
        <WhatIsWrong network={network} />
      </td>
    </tr>
  );
}

function NodeCell({ cell }: { readonly cell: NetworkView["cells"][number] | undefined }) {
  if (cell === undefined) return <td class="node" />;
  const { word, meaning } = VERDICT_TEXTS[cell.verdict];
  return (
    <td
      class={`node verdict ${keyOf(cell.verdict)}`}
      title={`${counted(cell.running, "running VM")}; ${withReason(meaning, cell.reason)}`}
    >
      {cell.verdict === "NoBridge" && cell.running === 0 ? "" : count(cell.running)}
      <span class="unseen"> {word}</span>
    </td>
  );
}
