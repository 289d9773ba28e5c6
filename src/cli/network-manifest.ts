import { bridgeResource } from "../api/bridge-resource.ts";
import { NETWORK_ATTACHMENT_DEFINITIONS } from "../api/kinds.ts";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../api/names.ts";

/** A NetworkAttachmentDefinition for VMs on a bridge, as docs/reference/nad-lint.md recommends it. */

export interface TrunkRange {
  readonly from: number;
  readonly to: number;
}

export interface NetworkRequest {
  readonly name: string;
  /** The one that `kubectl apply` uses where it is absent. */
  readonly namespace: string | undefined;
  readonly bridge: string;
  /** Of untagged frames. */
  readonly vlan: number | undefined;
  /** Of tagged frames. */
  readonly trunk: readonly TrunkRange[];
  readonly mtu: number | "inherit" | undefined;
  readonly spoofCheck: boolean;
}

export function networkManifest(request: NetworkRequest) {
  const { name, namespace, bridge } = request;
  const { group, version, kind } = NETWORK_ATTACHMENT_DEFINITIONS;
  return {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      annotations: { [NAD_RESOURCE_NAME_ANNOTATION]: bridgeResource(bridge) ?? "" },
    },
    spec: { config: `${JSON.stringify(configOf(request), null, 2)}\n` },
  };
}

function configOf({ name, bridge, vlan, trunk, mtu, spoofCheck }: NetworkRequest): object {
  return {
    cniVersion: "0.3.1",
    name,
    type: "cnv-bridge",
    bridge,
    ...(vlan === undefined ? {} : { vlan }),
    ...(trunk.length === 0 ? {} : { vlanTrunk: trunk.map(entryOf) }),
    // Without filtering, VLANs keep nothing apart: pods do not start then.
    ...(vlan === undefined && trunk.length === 0 ? {} : { requireVlanFiltering: true }),
    ...(mtu === undefined ? {} : { mtu }),
    ...(spoofCheck ? { macspoofchk: true } : {}),
  };
}

function entryOf({ from, to }: TrunkRange): object {
  return from === to ? { id: from } : { minID: from, maxID: to };
}
