import { describeHosts, describeHostsUnnamed, type HostInterface } from "../../api/host-interfaces.ts";
import { formatMac, type Mac } from "../../api/mac.ts";
import type { NamedText } from "./named-text.ts";
import { describeObject, type InterfaceOwner } from "./owner.ts";
import { type MacField, quote, type Refusal } from "./refusals.ts";

/** What the pool says about an address that a node has on an interface of its own, or sees a station have. */

export function hostAddress(
  mac: Mac,
  requester: InterfaceOwner,
  hosts: readonly HostInterface[],
  field: MacField,
): Refusal {
  const textOf = (named: string): string =>
    `MAC ${formatMac(mac)} of interface ${quote(requester.interface)} in ${describeObject(requester)} is the address of ` +
    `${named}. The two would receive each other's traffic. ` +
    `Leave ${field} out to get an address from the pool, or choose another one.`;
  const message = textOf(describeHosts(hosts));
  return { code: "MACPOOL_HOST_ADDRESS", message, withoutNodes: textOf(describeHostsUnnamed(hosts)) };
}

/** Admission warning where the policy lets an object have the address. */
export function hostAddressWarning(
  mac: Mac,
  requester: InterfaceOwner,
  hosts: readonly HostInterface[],
  field: MacField,
): NamedText {
  return {
    message:
      `MAC ${formatMac(mac)} of interface ${quote(requester.interface)} is also the address of ${describeHosts(hosts)}. ` +
      `They disturb each other on the same network. Leave ${field} out to get an address from the pool.`,
  };
}

/** Event on an object that has the address of a node. */
export function heldByHost(mac: string, interfaceName: string, hosts: readonly HostInterface[]): string {
  return (
    `MAC ${mac} of interface ${quote(interfaceName)} is also the address of ${describeHosts(hosts)}. ` +
    "Nothing was taken away. They disturb each other on the same network: give one of them another address."
  );
}
