import type { BridgeView, NetworkView } from "../../mac-pool/inspection/rest/views.ts";
import { differences, keyOf, nodesText, VERDICTS } from "./settings.ts";

/** How many nodes have which verdict, and the names of those that the answer has. */
export function NodesSummary({ network }: { readonly network: NetworkView }) {
  const told = VERDICTS.map((shown) => ({ ...shown, text: nodesText(network, shown.verdict) })).filter(
    ({ text }) => text !== "",
  );
  return (
    <ul class="verdicts">
      {told.map(({ verdict, word, text }) => (
        <li key={verdict}>
          <span class={`verdict ${keyOf(verdict)}`}>{word}</span> {text}
        </li>
      ))}
    </ul>
  );
}

/** Nodes where the bridge is set otherwise than on most. */
export function BridgeExceptions({ bridge }: { readonly bridge: BridgeView }) {
  const told = bridge.on.flatMap((on) => {
    const text = differences(bridge, on);
    return text === "" ? [] : [`${on.node}: ${text}`];
  });
  return told.length === 0 ? null : <small>{told.join("; ")}</small>;
}
