import { disableBridgePort, setBridgePort } from "../../../../cni-plugins/netlink/bridge.ts";
import { describeBeside } from "./beside-captured.ts";

/** The number that the captured requests have. */
const V0 = 700;

const NEW_PORT = "a new port has no flags, so ours sends those that are on";

describeBeside(
  "port",
  [
    {
      asked: "bridge link set dev v0 hairpin on",
      ours: (batch) => setBridgePort(batch, V0, { hairpin: true, isolated: false }),
    },
    {
      asked: "bridge link set dev v0 isolated on",
      ours: (batch) => setBridgePort(batch, V0, { hairpin: false, isolated: true }),
    },
    {
      asked: "bridge link set dev v0 hairpin on isolated on",
      ours: (batch) => setBridgePort(batch, V0, { hairpin: true, isolated: true }),
    },
    { asked: "bridge link set dev v0 state 0", ours: (batch) => disableBridgePort(batch, V0) },
    {
      asked: "bridge ADD: let the port send frames back",
      ours: (batch) => setBridgePort(batch, 3, { hairpin: true, isolated: false }),
    },
    {
      asked: "bridge ADD: isolate the port",
      ours: (batch) => setBridgePort(batch, 3, { hairpin: false, isolated: true }),
    },
  ],
  {
    "bridge ADD: let the port not send frames back": NEW_PORT,
    "bridge ADD: let the port not be isolated": NEW_PORT,
  },
);
