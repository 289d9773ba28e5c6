import { parseIpPrefix } from "../../../../cni-plugins/cni/ip-address.ts";
import { addAddress, deleteAddress, dumpAddresses } from "../../../../cni-plugins/netlink/address.ts";
import { addRoute, dumpRoutes, type Route } from "../../../../cni-plugins/netlink/route.ts";
import { AF_INET, AF_INET6 } from "../../../../cni-plugins/netlink/rtnetlink.ts";
import { describeBeside } from "./beside-captured.ts";

/** Numbers that the captured requests have. */
const V2 = 800;
const RT_SCOPE_LINK = 253;

function prefix(text: string): { address: Uint8Array; length: number } {
  const parsed = parseIpPrefix(text);
  if (parsed === undefined) throw new Error(`${text} is no prefix`);
  return parsed;
}

function route(to: string, via: string | undefined, keys: Partial<Route> = {}): Route {
  const { address, length } = prefix(to);
  const gateway = via === undefined ? undefined : prefix(via).address;
  const unset = { priority: 0, mtu: 0, advmss: 0, scope: 0, table: 0 };
  return { destination: address, length, gateway, index: V2, ...unset, ...keys };
}

const ZERO = "the destination of a default route has length 0, and bytes that are 0 or absent";
const MAIN = "RT_TABLE_MAIN: iproute2 has the kernel send no others; ours looks at each route's table";

describeBeside(
  "address",
  [
    {
      asked: "ip address add 10.9.0.7/20 brd + dev v2",
      ours: (batch) => addAddress(batch, V2, prefix("10.9.0.7/20")),
    },
    { asked: "ip address add 10.8.0.7/32 dev v2", ours: (batch) => addAddress(batch, V2, prefix("10.8.0.7/32")) },
    { asked: "ip address add fd00::7/64 dev v2", ours: (batch) => addAddress(batch, V2, prefix("fd00::7/64")) },
    { asked: "ip address del 10.9.0.7/20 dev v2", ours: (batch) => deleteAddress(batch, V2, prefix("10.9.0.7/20")) },
    { asked: "ip address del fd00::7/64 dev v2", ours: (batch) => deleteAddress(batch, V2, prefix("fd00::7/64")) },
    { asked: "ip -4 address show dev v2", ours: (batch) => dumpAddresses(batch, AF_INET, V2) },
    { asked: "ip -6 address show dev v2", ours: (batch) => dumpAddresses(batch, AF_INET6, V2) },
    {
      asked: "ip route prepend 10.77.0.0/16 via 10.9.0.1 dev v2",
      ours: (batch) => addRoute(batch, route("10.77.0.0/16", "10.9.0.1/32")),
    },
    {
      asked: "ip route prepend 10.78.0.0/16 dev v2 scope link",
      ours: (batch) => addRoute(batch, route("10.78.0.0/16", undefined, { scope: RT_SCOPE_LINK })),
    },
    {
      asked: "ip route prepend default via 10.9.0.1 dev v2 metric 500 table 200",
      ours: (batch) => addRoute(batch, route("0.0.0.0/0", "10.9.0.1/32", { priority: 500, table: 200 })),
      but: { "+RTA_DST=00000000": ZERO },
    },
    {
      asked: "ip route prepend 10.79.0.0/16 via 10.9.0.1 dev v2 metric 500 table 1000 mtu 1300 advmss 1260",
      ours: (batch) => {
        const keys = { priority: 500, table: 1000, mtu: 1300, advmss: 1260 };
        return addRoute(batch, route("10.79.0.0/16", "10.9.0.1/32", keys));
      },
    },
    {
      asked: "ip -6 route prepend fd00:77::/32 via fd00::1 dev v2 metric 500 table 1000 mtu 1300",
      ours: (batch) => {
        const keys = { priority: 500, table: 1000, mtu: 1300 };
        return addRoute(batch, route("fd00:77::/32", "fd00::1/128", keys));
      },
    },
    {
      asked: "ip -6 route prepend default via fd00::1 dev v2",
      ours: (batch) => addRoute(batch, route("::/0", "fd00::1/128")),
    },
    {
      asked: "ip -4 route show",
      ours: (batch) => dumpRoutes(batch, AF_INET),
      but: { "-RTA_TABLE=fe000000": MAIN },
    },
    {
      asked: "ip -6 route show",
      ours: (batch) => dumpRoutes(batch, AF_INET6),
      but: { "-RTA_TABLE=fe000000": MAIN },
    },
    { asked: "bridge ADD: add the IPv4 address", ours: (batch) => addAddress(batch, 2, prefix("10.9.0.7/20")) },
    { asked: "bridge ADD: add the IPv6 address", ours: (batch) => addAddress(batch, 2, prefix("fd00::7/64")) },
    {
      asked: "bridge ADD: add a route",
      ours: (batch) => addRoute(batch, route("10.77.0.0/16", "10.9.0.9/32", { index: 2 })),
    },
    {
      asked: "bridge ADD: add a route with priority and table",
      ours: (batch) => addRoute(batch, route("10.79.0.0/16", "10.9.0.9/32", { index: 2, priority: 500, table: 1000 })),
    },
    {
      asked: "bridge ADD: add a route in a table with a short number",
      ours: (batch) => addRoute(batch, route("10.78.0.0/16", "10.9.0.1/32", { index: 2, table: 200 })),
    },
    {
      asked: "bridge ADD: add an IPv6 route with priority",
      ours: (batch) => addRoute(batch, route("fd00:77::/32", "fd00::1/128", { index: 2, priority: 500 })),
    },
  ],
  {},
);
