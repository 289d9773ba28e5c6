import { bridgeResource } from "../../api/bridge-resource.ts";
import type { NadRef } from "../../api/claim-network.ts";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../../api/names.ts";
import { bridgeOfConfig, describeVlans } from "../../nad-lint/segment.ts";
import type { WayInterface } from "./facts.ts";

/** What a network asks of a bridge of the node. */
export interface NetworkOnBridge {
  readonly nad: NadRef;
  /** What the plugin reads. */
  readonly config: NonNullable<ReturnType<typeof bridgeOfConfig>>;
  readonly bridge: string;
  /** Ascending; empty where the network asks for none. The VLAN of untagged frames is the first. */
  readonly vlans: readonly number[];
  /** `VLAN 100`, `VLANs 100, 200-210`; empty where the network asks for none. */
  readonly vlansText: string;
  /** Absent: 1500, or that of the bridge if it is smaller. */
  readonly mtu: number | "inherit" | undefined;
  /** The network has a gateway, and so the plugin makes the bridge where it is missing. */
  readonly makesBridge: boolean;
  /** The scheduler looks for nodes that publish the bridge. */
  readonly asksForBridge: boolean;
}

/** Undefined where the network is not known, or not one of our bridge plugin. */
export function onBridge({ nad, network }: Pick<WayInterface, "nad" | "network">): NetworkOnBridge | undefined {
  const { config, name = "", annotations = {} } = ("value" in network ? network.value : undefined) ?? {};
  const read = config === undefined ? undefined : bridgeOfConfig(config, name);
  if (nad === undefined || read === undefined) return undefined;
  const { access = 0, trunk = [] } = read.vlans ?? {};
  const vlans = access === 0 ? trunk : [access, ...trunk.filter((id) => id !== access)];
  return {
    nad,
    config: read,
    bridge: read.bridge,
    vlans,
    vlansText: describeVlans(vlans),
    mtu: read.mtu,
    makesBridge: read.addressing?.gateway ?? false,
    asksForBridge: annotations[NAD_RESOURCE_NAME_ANNOTATION] === bridgeResource(read.bridge),
  };
}
