import { formatMacPrefix } from "../../cni-plugins/bridge/allowed-macs.ts";
import type { VlanConfig } from "../../cni-plugins/bridge/vlan-config.ts";
import { isJsonObject } from "../../cni-plugins/cni/config-object.ts";
import type { Request } from "../../cni-plugins/cni/request.ts";
import { type Finding, finding } from "./finding.ts";
import { addressFault, gatewayFault, givesIpv6 } from "./given-addresses.ts";
import { ipamFault } from "./ipam-checks.ts";
import { givesNoAddress, unknownIpamKeys } from "./ipam-keys.ts";
import type { ReadPlugin } from "./plugin-checks.ts";
import { routeFault } from "./route-checks.ts";

/** What the plugin `bridge` refuses, and what it accepts without doing what was meant, on any node. */

const DEFAULT_VLAN = 1;
/** Of the prefix that a manufacturer gets. */
const MANUFACTURER_BITS = 24;
export const LOOPBACK = "lo";

/** The plugin's other name, which only networks of VMs use. */
const VM_PLUGIN = "cnv-bridge";

export function checkBridge({ request, bridge }: ReadPlugin, place: string): Finding[] {
  if (request === undefined || bridge === undefined) return [];
  const findings: Finding[] = [];
  const say = (...[code, message]: Parameters<typeof finding>): void => {
    findings.push(finding(code, place + message));
  };
  const { vlans, addressing, spoofCheck, allowedMacs } = bridge;
  if (bridge.bridge === LOOPBACK) {
    say(
      "plugin-refuses",
      `"bridge": "${LOOPBACK}" is a device of every node, not a bridge: pods will not start. Name a bridge.`,
    );
  }
  if (addressing !== undefined) {
    const fault = ipamFault(request.config.object("ipam"), request.version, request.config.object("runtimeConfig"));
    const refused = (code: Finding["code"], text: string | undefined, who: string): void => {
      if (text !== undefined) say(code, `${text}. ${who} refuses it: pods will not start.`);
    };
    refused("ipam-refuses", fault, `IPAM plugin ${addressing.ipam}`);
    if (fault === undefined) {
      refused("address-refused", addressFault(request.config, addressing), "The kernel");
      refused("plugin-refuses", gatewayFault(request.config, addressing), "The bridge plugin");
      refused("route-refused", routeFault(request, addressing), "The kernel");
    }
    for (const text of unknownIpamKeys(request.config.object("ipam"))) say("key-ignored", text);
    if (fault === undefined && givesNoAddress(request.config)) {
      say(
        "ipam-without-addresses",
        '"ipam" static has no addresses: a pod that brings none does not start. Write "addresses": [{"address": "10.1.0.2/24"}], or "capabilities": {"ips": true} if pods bring their own.',
      );
    }
    if (fault === undefined && request.config.raw("acceptRa") === undefined && givesIpv6(request.config)) {
      say(
        "advertisements-beside-ipam",
        '"ipam" gives an IPv6 address, and pods take others, and default routes, from router advertisements too. Write "acceptRa": false to switch those off, or true if they are meant.',
      );
    }
    if (request.config.raw("type") === VM_PLUGIN) {
      say(
        "ipam-of-vm",
        '"ipam" gives addresses to pods. A VM has another pod after each start and migration, and so another address. Leave "ipam" out, and set addresses in the guest.',
      );
    }
    const sign = request.config.raw("type") === VM_PLUGIN ? undefined : signOfVms(request);
    if (sign !== undefined) {
      say(
        "ipam-maybe-of-vm",
        `${sign} is usual in networks of VMs. If this is one, leave "ipam" out: a VM has another pod, and another address, after each start and migration.`,
      );
    }
  }
  const wide = allowedMacs.find(({ length }) => length < MANUFACTURER_BITS);
  if (spoofCheck && wide !== undefined) {
    say(
      "allowed-macs-wide",
      `"allowedMacs" has ${formatMacPrefix(wide)}, which holds addresses of many machines: pods may send as those. Write the addresses themselves, or a longer prefix such as 00:00:5e:00:01:00/40.`,
    );
  }
  if (vlans?.accessNamed && vlans.trunk.includes(vlans.access)) {
    say(
      "vlan-in-trunk",
      `VLAN ${vlans.access} is in "vlan" and in "vlanTrunk". It is tagged then, and untagged frames of the VM are lost. Take it out of one of the two.`,
    );
  }
  if (vlans !== undefined && leavesDefaultVlan(vlans)) {
    say(
      "vlan-1-kept",
      `the plugin takes each new port out of VLAN ${DEFAULT_VLAN}, if that is the bridge's default. A port that a plugin of v1.5.1 or earlier made stays in VLAN ${DEFAULT_VLAN} until its pod is made anew.`,
    );
  }
  return findings;
}

function leavesDefaultVlan({ access, accessNamed, trunk, preserveDefault }: VlanConfig): boolean {
  // A trunk alone has the bridge's default VLAN for untagged frames.
  return accessNamed && !preserveDefault && access !== DEFAULT_VLAN && !trunk.includes(DEFAULT_VLAN);
}

/** The key that networks of VMs usually have; undefined for none. */
function signOfVms({ config }: Request): string | undefined {
  const capabilities = config.raw("capabilities");
  if (config.boolean("macspoofchk")) return '"macspoofchk"';
  return isJsonObject(capabilities) && capabilities.mac === true ? 'the capability "mac"' : undefined;
}
