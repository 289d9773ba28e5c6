import type { NetworkView } from "../../mac-pool/inspection/rest/views.ts";
import { networkLink } from "../navigation.ts";

/** `default/br1-net`, with all that is known about it. */
export function NetworkLink({ network }: { readonly network: Pick<NetworkView, "namespace" | "name"> }) {
  const { namespace, name } = network;
  return (
    <a href={networkLink(network)}>
      <span class="quiet">{namespace}/</span>
      {name}
    </a>
  );
}
