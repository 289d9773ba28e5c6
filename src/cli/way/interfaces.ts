import { type NadRef, nadOf, networkNameFault } from "../../api/claim-network.ts";
import { formatMac, parseMac } from "../../api/mac.ts";
import { NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION } from "../../api/names.ts";
import { parseNetworkSelection } from "../../api/network-selection.ts";
import type { Pod } from "../../kube/client/built-in-kinds.ts";
import type { KnownHistory } from "../backends/pool-backend.ts";
import type { GuestSpec } from "./facts.ts";

/** The interfaces of an object, as the way begins with them. */
export interface AskedInterface {
  readonly name: string;
  readonly mac: string | undefined;
  readonly nad: NadRef | undefined;
  /** What is wrong with the name of its network, which then has no `nad`. */
  readonly nameFault?: string | undefined;
}

/** The address in its one form; undefined for what is none. */
export function addressIn(text: unknown): string | undefined {
  const mac = typeof text === "string" ? parseMac(text) : undefined;
  return mac === undefined ? undefined : formatMac(mac);
}

/** Of a VM or VMI; one that is being unplugged is left out. */
export function interfacesOfGuest(spec: GuestSpec | undefined, namespace: string): AskedInterface[] {
  const networks = listOf(spec?.networks);
  return listOf(spec?.domain?.devices?.interfaces).flatMap(({ name, macAddress, state }) => {
    if (typeof name !== "string" || state === "absent") return [];
    const { multus } = networks.find((one) => one.name === name) ?? {};
    const common = { name, mac: addressIn(macAddress) };
    if (multus === undefined || multus === null) return { ...common, nad: undefined };
    const network: unknown = multus.networkName;
    return { ...common, nad: nadOf(`multus ${network}`, namespace), nameFault: networkNameFault(network) };
  });
}

/** Why multus can't read what networks the pod asks for; undefined where it can. */
export function networksFault({ metadata }: Pod): string | undefined {
  const selection = parseNetworkSelection(metadata.annotations?.[NETWORKS_ANNOTATION] ?? "");
  return selection.form === "malformed" ? selection.reason : undefined;
}

/** Those that it asks for; of one that asks for none, those that its network-status gives an address. */
export function interfacesOfPod({ metadata }: Pod, namespace: string): AskedInterface[] {
  const selection = parseNetworkSelection(metadata.annotations?.[NETWORKS_ANNOTATION] ?? "");
  if (selection.form === "none")
    return interfacesInStatus(metadata.annotations?.[NETWORK_STATUS_ANNOTATION], namespace);
  if (!("elements" in selection)) return [];
  return selection.elements.map((element) => ({
    name: element.interface,
    mac: addressIn(element.mac),
    nad: { namespace: element.namespace || namespace, name: element.name },
  }));
}

function interfacesInStatus(text: string | undefined, namespace: string): AskedInterface[] {
  const all = text === undefined ? [] : (attachmentsIn(text) ?? []);
  return all.flatMap((one) => {
    if (one.default === true || addressIn(one.mac) === undefined) return [];
    const nad = nadOf(`multus ${one.name}`, namespace);
    return [{ name: String(one.interface ?? "?"), mac: undefined, nad }];
  });
}

/** One attachment, as multus reports it. */
export interface Attachment {
  readonly name?: unknown;
  readonly interface?: unknown;
  readonly mac?: unknown;
  readonly default?: unknown;
}

/** Undefined where nobody can read it. */
export function attachmentsIn(text: string): readonly Attachment[] | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list.filter((one) => typeof one === "object" && one !== null) : undefined;
  } catch {
    return undefined;
  }
}

/** As the pool knows them, for whom the object itself is out of reach. */
export function interfacesOfHistory({ interfaces, namespace }: KnownHistory): AskedInterface[] {
  return interfaces.map(({ interface: name, mac, network = "" }) => {
    const [, written] = /^multus (.*)$/.exec(network) ?? [];
    const nameFault = written === undefined ? undefined : networkNameFault(written);
    return { name, mac, nad: nadOf(network, namespace), nameFault };
  });
}

/** KubeVirt's own schema is not known to be in force where the objects come from. */
function listOf<T extends object>(value: readonly T[] | undefined): readonly T[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "object" && one !== null) : [];
}
