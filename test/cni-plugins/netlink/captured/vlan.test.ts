import {
  addAccessVlan,
  addTrunkVlans,
  deleteVlan,
  dumpPortVlans,
  probeVlanFiltering,
} from "../../../../cni-plugins/netlink/bridge-vlan.ts";
import { describeBeside } from "./beside-captured.ts";

/** The number that the captured requests have. */
const V0 = 700;

const one = (id: number) => ({ first: id, last: id });

describeBeside(
  "vlan",
  [
    {
      asked: "bridge vlan add dev v0 vid 300 pvid untagged master",
      ours: (batch) => addAccessVlan(batch, V0, 300),
    },
    { asked: "bridge vlan add dev v0 vid 300 master", ours: (batch) => addTrunkVlans(batch, V0, [one(300)]) },
    {
      asked: "bridge vlan add dev v0 vid 30-4094 master",
      ours: (batch) => addTrunkVlans(batch, V0, [{ first: 30, last: 4094 }]),
    },
    { asked: "bridge vlan del dev v0 vid 1 master", ours: (batch) => deleteVlan(batch, V0, 1) },
    { asked: "bridge -compressvlans vlan show", ours: dumpPortVlans },
    {
      asked: "bridge -details vlan show dev br0",
      ours: probeVlanFiltering,
      but: {
        "+index=1": "ours asks for lo, which is no port: whether the kernel can, not what a port has",
        "-attribute 1=00000000": "BRIDGE_VLANDB_DUMP_FLAGS, of which none is set",
      },
    },
    { asked: "bridge ADD: add the access VLAN", ours: (batch) => addAccessVlan(batch, 2, 300) },
    { asked: "bridge ADD: add a VLAN of the trunk", ours: (batch) => addTrunkVlans(batch, 2, [one(300)]) },
    { asked: "bridge ADD: remove the bridge's default VLAN", ours: (batch) => deleteVlan(batch, 3, 1) },
    { asked: "bridge ADD: add the native VLAN of a trunk", ours: (batch) => addAccessVlan(batch, 3, 300) },
    { asked: "bridge ADD: add a VLAN beside the native one", ours: (batch) => addTrunkVlans(batch, 3, [one(20)]) },
  ],
  {},
);
