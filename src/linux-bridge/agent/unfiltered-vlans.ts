import { parseObject } from "../../kube/json-path.ts";
import type { ListLinks } from "./host-links.ts";
import { type RecordedAttachment, readRecords } from "./recorded-attachments.ts";

const DEFAULT_BRIDGE = "cni0";

/**
 * How many attachments have a VLAN on a bridge that does not filter VLANs, by the bridge: whoever configured them expects
 * them to be apart from the bridge's other ports, and they are not.
 */
export async function unfilteredVlans(recordDirectory: string, listLinks: ListLinks): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const unfiltered = (await listLinks()).filter(({ filtersVlans }) => filtersVlans === false).map(({ name }) => name);
  for (const record of await readRecords(recordDirectory)) {
    const bridge = bridgeWithVlan(record);
    if (bridge !== undefined && unfiltered.includes(bridge)) counts.set(bridge, (counts.get(bridge) ?? 0) + 1);
  }
  return counts;
}

/** The name of the bridge on which the attachment has a VLAN. Keys count in any case, numbers also in quotes. */
function bridgeWithVlan({ plugin, config }: RecordedAttachment): string | undefined {
  if (plugin !== "bridge") return undefined;
  const keys = Object.entries(parseObject(config) ?? {}).map(([key, value]) => [key.toLowerCase(), value] as const);
  const { vlan, vlantrunk, bridge = DEFAULT_BRIDGE } = Object.fromEntries(keys);
  const hasVlan = Number(vlan) > 0 || (Array.isArray(vlantrunk) && vlantrunk.length > 0);
  return hasVlan && typeof bridge === "string" ? bridge : undefined;
}
