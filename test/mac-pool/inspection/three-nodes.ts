import type { InspectionFixtureOptions } from "./inspection-fixture.ts";
import { bridgeOf, guestOf, nadOf, reportOf } from "./networks.ts";

/** Networks of several tenants, and three nodes, of which two have a bridge each. */
export const THREE_NODES: InspectionFixtureOptions = {
  nodeMacs: [
    reportOf("node-a", [
      bridgeOf("br1", { vlanFiltering: false, uplinks: [{ name: "eth1", carrier: true, mtu: 1500 }] }),
    ]),
    reportOf("node-b", [bridgeOf("br2", { mtu: 9000 })]),
    reportOf("node-c", []),
  ],
  nads: [
    nadOf("tenant-lab", "br9", { bridge: "br9" }),
    nadOf("tenant-lab", "wrong", { bridge: "br7", resource: "br8", config: { portIsolaton: true, mtu: 9000 } }),
    nadOf("tenant-lab", "noann", { resource: null }),
    nadOf("tenant-a", "vlan100", { config: { vlan: 100, macspoofchk: true } }),
    nadOf("default", "br1-net"),
  ],
  instances: [
    guestOf("tenant-a", "web", ["default/br1-net", "vlan100"], "node-a"),
    guestOf("tenant-b", "db", ["default/br1-net"], "node-a"),
    guestOf("tenant-lab", "nobridge", ["br9"]),
  ],
};
