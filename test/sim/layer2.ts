import type { KubeObject } from "../../src/kube/client/resource.ts";
import { attachmentsIn, nicsOf } from "./objects.ts";

/** The networks of the simulated cluster, and where they lead: two of them into one VLAN. Any other leads nowhere that is known. */
export const NETWORKS = {
  one: { bridge: "br1", vlan: 10 },
  copy: { bridge: "br1", vlan: 10 },
  two: { bridge: "br1", vlan: 20 },
} as const;

export const NETWORK_NAMES: readonly string[] = Object.keys(NETWORKS);

/** A domain that nobody knows meets every other. */
const NOWHERE = "nowhere";

/**
 * Every address that an object holds and the domain that it is in: undefined where the object does not tell, as after an
 * interface was unplugged.
 */
export function domainsHeld(object: KubeObject): ReadonlyMap<string, string | undefined> {
  if (object.kind === "Pod")
    return new Map(attachmentsIn(object).map(({ name, mac }) => [mac ?? "", domainOf(name)] as const));
  const nics = nicsOf(object);
  const reported = (object.status as { interfaces?: { name?: string; mac?: string }[] } | undefined)?.interfaces ?? [];
  const ofStatus = reported.map(({ name, mac = "" }) => {
    const nic = nics.find((candidate) => candidate.name === name);
    return [mac, nic && domainOf(nic.network)] as const;
  });
  return new Map([
    ...ofStatus,
    ...nics.map(({ macAddress = "", network }) => [macAddress, domainOf(network)] as const),
  ]);
}

function domainOf(network: string | undefined): string {
  const known = NETWORKS[network as keyof typeof NETWORKS];
  return known === undefined ? NOWHERE : `${known.bridge} ${known.vlan}`;
}

/** Whether frames of the one never get to the other. */
export function areApart(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && other !== undefined && one !== other && one !== NOWHERE && other !== NOWHERE;
}
