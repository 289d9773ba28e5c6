import type { Finding, FindingCode } from "./finding.ts";

/** What is wrong with a network, in the few words that a table has room for. */
const WORDS: Readonly<Record<FindingCode, string>> = {
  "config-unreadable": "its configuration can't be read",
  "plugin-refuses": "the plugin refuses it",
  "ipam-refuses": "its IPAM is refused",
  "address-refused": "the kernel refuses an address",
  "route-refused": "the kernel refuses a route",
  "resource-differs": "its resource is not that of its bridge",
  "mac-in-network": "it gives its pods one MAC address",
  "vlan-in-trunk": "its VLAN is in its trunk too",
  "key-ignored": "a key is ignored",
  "ipam-without-addresses": "its IPAM has no addresses",
  "sysctl-of-interface": "a sysctl names an interface",
  "plugins-unseen": "it has too many plugins to look at",
  "bridge-on-no-node": "no node has its bridge",
  "bridge-not-now": "no VM can land now",
  "resource-missing": "VMs can land on nodes without its bridge",
  "bridge-unpublishable": "nodes can't publish its bridge",
  "vlan-impossible": "kernel can't filter VLANs",
  "vlan-unfiltered": "bridge filters no VLANs",
  "vlan-not-on-uplink": "no uplink passes its VLAN",
  "mtu-above-bridge": "its MTU is above that of the bridge",
  "mtu-below-bridge": "its MTU is below that of the bridge",
  "mtu-above-port": "its MTU is above that of the port",
  "ipam-of-vm": "its IPAM gives addresses to pods, not to VMs",
  "allowed-macs-wide": "pods may send as many others",
  "allowed-macs-of-pool": "pods may send as VMs of a pool",
  "same-network": "shares its segment with another network",
  "value-quoted": "a value is in quotes",
  "no-uplink": "its bridge has no uplink",
  "key-without-effect": "a key has no effect",
  "ipam-maybe-of-vm": "its IPAM gives addresses to pods, not to VMs",
  "advertisements-beside-ipam": "pods take router advertisements too",
  "vlan-needs-filtering": "its bridge has to filter VLANs",
  "vlan-1-kept": "old ports stay in VLAN 1",
  "mtu-needs-bridge": "its bridge has to have its MTU",
};

const IGNORED_KEY = /unknown key ("[^"]{1,40}")/;

export function wordsOf({ code, message }: Finding): string {
  const [, key] = (code === "key-ignored" && IGNORED_KEY.exec(message)) || [];
  return key === undefined ? WORDS[code] : `key ${key} is ignored`;
}
