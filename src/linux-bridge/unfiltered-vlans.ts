import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type AttachmentRecord, readRecords } from "./attachment-record.ts";
import { parseObject } from "./json-object.ts";

const DEFAULT_BRIDGE = "cni0";

/**
 * How many attachments have a VLAN on a bridge that does not filter VLANs, by the bridge: whoever configured them expects
 * them to be apart from the bridge's other ports, and they are not.
 */
export async function unfilteredVlans(recordDirectory: string, linksDirectory: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const record of await readRecords(recordDirectory)) {
    const bridge = bridgeWithVlan(record);
    if (bridge === undefined) continue;
    const filtering = join(linksDirectory, bridge, "bridge", "vlan_filtering");
    const state = await readFile(filtering, "utf8").catch(() => "");
    if (state.trim() === "0") counts.set(bridge, (counts.get(bridge) ?? 0) + 1);
  }
  return counts;
}

/** The name of the bridge on which the attachment has a VLAN. Keys count in any case, numbers also in quotes. */
function bridgeWithVlan({ plugin, config }: AttachmentRecord): string | undefined {
  if (plugin !== "bridge") return undefined;
  const keys = Object.entries(parseObject(config) ?? {}).map(([key, value]) => [key.toLowerCase(), value] as const);
  const { vlan, vlantrunk, bridge = DEFAULT_BRIDGE } = Object.fromEntries(keys);
  const hasVlan = Number(vlan) > 0 || (Array.isArray(vlantrunk) && vlantrunk.length > 0);
  return hasVlan && typeof bridge === "string" && !bridge.includes("/") ? bridge : undefined;
}
