import type { KubeObject } from "../../../../src/kube/client/resource.ts";
import type { InspectionFixtureOptions } from "../inspection-fixture.ts";
import { bridgeOf, guestOf, nadOf, reportOf } from "../networks.ts";

/** A cluster with many nodes, networks and VMs, where most is well. */

const BRIDGES = 5;
const NAMESPACES = 100;
/** Each so manyth of the networks or nodes is not like the others. */
const ODD = 100;

interface Size {
  readonly nodes: number;
  readonly networks: number;
  readonly guests: number;
}

export function manyNetworks({ nodes, networks, guests }: Size): Pick<InspectionFixtureOptions, NetworkKeys> {
  const nodeOf = (at: number): string => `node-${String(at % nodes).padStart(4, "0")}`;
  const namespaceOf = (network: number): string => `tenant-${network % NAMESPACES}`;
  const nameOf = (network: number): string => `vlan-${network}`;
  return {
    nodeMacs: Array.from({ length: nodes }, (_, at) =>
      reportOf(
        nodeOf(at),
        Array.from({ length: BRIDGES }, (_bridge, index) =>
          bridgeOf(`br${index}`, {
            vlanFiltering: at % ODD !== 7,
            uplinks: [{ name: "bond0", carrier: at % ODD !== 9, mtu: 1500, vlans: ["1-1000"] }],
          }),
        ),
      ),
    ),
    nads: Array.from({ length: networks }, (_, at) =>
      nadOf(namespaceOf(at), nameOf(at), {
        bridge: `br${at % BRIDGES}`,
        config: { vlan: 2 + at, macspoofchk: true },
        ...(at % ODD === 0 ? { resource: null } : {}),
      }),
    ),
    instances: Array.from({ length: guests }, (_, at): KubeObject => {
      const network = at % networks;
      return guestOf(namespaceOf(network), `vm-${at}`, [nameOf(network)], at % (ODD * ODD) === 0 ? "" : nodeOf(at));
    }),
  };
}

type NetworkKeys = "nodeMacs" | "nads" | "instances";
