import { BRIDGE_RESOURCE_PREFIX } from "../api/names.ts";
import type { NodeBridge } from "../api/node-macs.ts";
import { MAX_NODE_BRIDGES } from "../api/node-report.ts";
import { LinkTable } from "./link-table.ts";

/** How the bridges of the node are set. Kept as text, so that an event of a bridge that says the same is no change. */
export class BridgeSettings extends LinkTable<string> {
  constructor() {
    super(({ kind, name, mtu, vlanFiltering = false }) =>
      kind === "bridge" && mtu !== undefined ? JSON.stringify({ name, mtu, vlanFiltering }) : undefined,
    );
  }

  /** Those whose resource is among `published`, by the index of the link; as many as a node may report. */
  of(published: ReadonlySet<string>): NodeBridge[] {
    return this.entries()
      .map(([, text]): NodeBridge => JSON.parse(text))
      .filter(({ name }) => published.has(BRIDGE_RESOURCE_PREFIX + name))
      .slice(0, MAX_NODE_BRIDGES);
  }
}
